"""Runs and their results."""

from __future__ import annotations

import html
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._policy import PlacementPolicy, VictimScore, taken_out
from ._progress import Progress, reporter

if TYPE_CHECKING:
    from ._trace import Trace

#: What an argument may be: its text as on the command line, a number, or the path of a file; a trace for ``workload``;
#: and a policy for ``where`` and ``which``.
Value = Union[str, int, float, "os.PathLike[str]", "Trace", PlacementPolicy, VictimScore]


class Fields(Mapping[str, Any]):
    """Fields of a report, by name as items and as attributes."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> Any:
        value = self._fields[name]
        return Fields(value) if isinstance(value, dict) else value

    def __getattr__(self, name: str) -> Any:
        # Also asked before there are fields, when a copy is made.
        fields = self.__dict__.get("_fields", {})
        if name in fields:
            return self[name]
        raise AttributeError(f"no field {name!r}; there are {', '.join(fields)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._fields!r})"

    def to_dict(self) -> dict[str, Any]:
        """All fields, nested ones too, as the command line's ``--json`` has them."""
        return json.loads(json.dumps(self._fields))


class Result(Fields):
    """What a run measured. Its attributes are the fields of ``wearwell run --json``, such as ``wa_data``. In a notebook
    it shows the charts of ``wearwell run --html``. ``name`` is what the run is called in a comparison."""

    def __init__(self, run: _native.Run, name: str = "") -> None:
        super().__init__(json.loads(run.json()))
        self._run = run
        self.name = name

    @property
    def series(self) -> _native.Table:
        """Counters over time, as an Arrow table with a row for each sample, 96 to 192 of them in a long run. Since the
        counters started: ``host_bytes``, ``sim_ns`` (nanoseconds of simulated time), ``host_pages``,
        ``programmed_pages``, ``copied_pages``, ``erases`` (uint64). Now: ``free_segments`` (uint32). Since the row
        before: ``wa`` (pages programmed for each host page) and ``throughput_kib_s`` (KiB a second) (float64; null in
        the first row, and where nothing happened)."""
        return self._run.series()

    @property
    def segments(self) -> _native.Table:
        """Every segment at the end, as an Arrow table with a row for each: ``segment`` (uint32), ``state`` (text:
        ``free``, ``open``, ``closed``, ``victim``, ``erasing`` or ``bad``), ``pages``, ``valid_pages``,
        ``untouched_pages`` (valid, and as they were filled), ``erases`` (uint32)."""
        return self._run.segments()

    @property
    def latency(self) -> _native.Table:
        """Latency of the host's commands, as an Arrow table with a row for each quantile: ``quantile`` (float64, 0 to
        1) and ``latency_us`` (float64, microseconds). Empty if the chip takes no time."""
        return self._run.latency()

    def __repr__(self) -> str:
        config = self.config
        what = config.which or config.recycle or config.ftl
        return f"<wearwell.Result {self.name or what}: {config.workload}, write amplification {self.wa_data:.3f}>"

    def _rows(self) -> list[tuple[str, str]]:
        config, erased = self.config, self.erase_count
        rows = [
            ("chip", config.chip),
            ("engine", ", ".join(str(part) for part in (config.ftl, config.which, config["where"]) if part)),
            ("workload", config.workload),
            ("write amplification", f"{self.wa_data:.3f} data, {self.wa_total:.3f} total"),
            ("host pages", f"{self.host_pages:,}"),
            ("copied pages", f"{self.copied_pages:,}"),
            ("erases", f"{self.erases:,}"),
            ("erases of a segment", f"{erased.min} to {erased.max}, mean {erased.mean:.1f}"),
        ]
        if self.latency_us is not None:
            rows.append(("latency", f"mean {self.latency_us.mean:.0f} µs, p99.9 {self.latency_us.p999:.0f} µs"))
        return rows

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in self._rows())
        return f"<table>{cells}</table>{_charts([self])}"

    def plot(self) -> Any:
        """Write amplification, throughput (KiB/s) and free segments over the MiB that the host wrote.

        :returns: a ``matplotlib.figure.Figure`` with three axes.
        :raises ImportError: without matplotlib and pyarrow (``pip install wearwell[plot]``).
        """
        return plot([self])


class Comparison(Sequence[Result]):
    """Results beside each other, in the order in which they were asked for: by place, or by name. In a notebook they
    show the charts of ``wearwell compare --html``."""

    def __init__(self, results: list[Result]) -> None:
        self._results = results

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, str):
            for result in self._results:
                if result.name == at:
                    return result
            raise KeyError(at)
        return self._results[at]

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        width = max((len(result.name) for result in self), default=0)
        lines = (f"{result.name:{width}}  WA {result.wa_data:.3f}  erases {result.erases:,}" for result in self)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        titles = ("policy", "WA data", "WA total", "erases", "copied", "σ of erases")
        head = "".join(f"<th>{title}</th>" for title in titles)
        rows = "".join(
            f"<tr><td>{html.escape(r.name)}</td><td>{r.wa_data:.3f}</td><td>{r.wa_total:.3f}</td><td>{r.erases:,}</td>"
            f"<td>{r.copied_pages:,}</td><td>{r.erase_count.stddev:.2f}</td></tr>"
            for r in self
        )
        return f"<table><tr>{head}</tr>{rows}</table>{_charts(self)}"

    def to_list(self) -> list[dict[str, Any]]:
        """All reports with their names, as the command line's ``wearwell compare --json`` has them."""
        return [{"name": result.name, **result.to_dict()} for result in self]

    def plot(self) -> Any:
        """As :meth:`Result.plot`, a line for each."""
        return plot(self)


def run(*, progress: Progress = True, **arguments: Optional[Value]) -> Result:
    """Simulate one device under one workload.

    The arguments are those of ``wearwell run``, with underscores for hyphens; only ``workload`` must be given.
    ``None`` leaves one to its default. Sizes (``write``, ``unit``, ``logical``) are bytes as numbers, or texts as
    ``"1GiB"``. A workload may be a :class:`Trace`. ``where`` and ``which`` may be objects with the methods of
    :class:`PlacementPolicy` and :class:`VictimScore`.

    :param progress: ``True`` for a bar where tqdm is installed, or a function of (run, phase, done, steps).
    :raises ArgumentError: for what is not understood or makes no sense.
    :raises TraceError: for a trace that cannot be read.
    :raises PolicyError: for a policy that lacks something, or answers wrongly. What a policy raises ends the run, and
        is raised here.
    :raises RunError: for a run that found something wrong.
    """
    (result,) = _run_all([("", arguments)], 1, progress)
    return result


def compare(
    policies: Optional[Sequence[str]] = None,
    runs: Optional[Mapping[str, Mapping[str, Optional[Value]]]] = None,
    *,
    threads: Optional[int] = None,
    progress: Progress = True,
    **arguments: Optional[Value],
) -> Comparison:
    """Run several policies side by side on one workload.

    :param policies: values of ``which``; by default, without ``runs``, those that ``wearwell compare`` takes.
    :param runs: more runs, by name, each with the arguments that differ.
    :param threads: how many run at a time; by default as many as there are processors.
    :param arguments: what all have in common, as for :func:`run`.
    :raises Error: as :func:`run`; the first in the order of the runs.
    """
    jobs = [(name, {**arguments, "which": name}) for name in policies or ()]
    jobs += [(name, {**arguments, **changed}) for name, changed in (runs or {}).items()]
    if not jobs:
        ftl = arguments.get("ftl")
        found = _native.compared_by_default(None if ftl is None else _text("ftl", ftl))
        if found is None:
            raise _native.ArgumentError(
                f"ftl={ftl!r} has no policies to compare by default; say what to compare in runs="
            )
        argument, values = found
        jobs = [(value, {**arguments, argument: value}) for value in values]
    return Comparison(_run_all(jobs, threads or os.cpu_count() or 1, progress))


def _text(name: str, value: Value) -> str:
    """An argument as the command line takes it."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike)):
        raise _native.ArgumentError(
            f"{name}={value!r}: a text, a number or a path is wanted, not {type(value).__name__}"
        )
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def texts_of(arguments: Mapping[str, Optional[Value]]) -> list[tuple[str, str]]:
    """Arguments as the command line takes them, without those that are left to their defaults."""
    return [(name, _text(name, value)) for name, value in arguments.items() if value is not None]


def _job(arguments: dict[str, Optional[Value]]) -> _native.Asked:
    """The arguments of a run, the trace that it replays if that is in memory, and its policies in Python."""
    from ._trace import Trace

    arguments, policies = taken_out(arguments)
    workload = arguments.get("workload")
    if not isinstance(workload, Trace):
        return texts_of(arguments), None, policies
    texts = texts_of({**arguments, "workload": f"trace:{workload.name}"})
    return texts, workload._trace if workload.path is None else None, policies


def _run_all(jobs: list[tuple[str, dict[str, Optional[Value]]]], threads: int, progress: Progress) -> list[Result]:
    names = [name for name, _ in jobs]
    said = [_job(arguments) for _, arguments in jobs]
    own = [asked.policy for *_, policies in said for asked in policies if asked is not None]
    if len({id(policy) for policy in own}) < len(own):
        raise _native.PolicyError("a policy remembers one run: give each run an object of its own")
    tell, end = reporter(progress, names)
    try:
        runs = _native.run_all(said, threads, tell)
    finally:
        end()
    for line in dict.fromkeys(line for run in runs for line in run.warnings()):
        warnings.warn(line, stacklevel=3)
    return [Result(run, name) for run, name in zip(runs, names)]


def _label(result: Result) -> str:
    """The name of a run in charts."""
    return result.name or result.config.which or result.config.ftl


def _charts(results: Sequence[Result]) -> str:
    """The charts of ``wearwell run --html``, in a frame, since their style is not the notebook's."""
    page = _native.charts([(_label(result), result._run) for result in results])
    frame = f'<iframe srcdoc="{html.escape(page)}" style="width:100%;height:30em;border:0" title="Charts"></iframe>'
    return f"<details open><summary>Charts</summary>{frame}</details>"


def plot(results: Sequence[Result]) -> Any:
    """Write amplification, throughput and free segments of some runs over what the host wrote."""
    from matplotlib import pyplot

    import pyarrow

    shown = [("wa", "write amplification"), ("throughput_kib_s", "KiB/s"), ("free_segments", "free segments")]
    figure, axes = pyplot.subplots(1, len(shown), figsize=(4 * len(shown), 3), layout="constrained")
    for result in results:
        series = pyarrow.table(result.series).to_pydict()
        mib = [count / (1 << 20) for count in series["host_bytes"]]
        for axis, (column, _) in zip(axes, shown):
            values = [float("nan") if value is None else value for value in series[column]]
            axis.plot(mib, values, label=_label(result))
    for axis, (_, title) in zip(axes, shown):
        axis.set_xlabel("MiB written")
        axis.set_ylabel(title)
        axis.set_ylim(bottom=0)
    axes[0].legend()
    return figure
