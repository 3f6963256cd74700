"""Studies: the product of parameters, volumes and seeds, each cell a run of its own.

A study lies in a folder. Every cell that is done is a file in ``cells``, named by a hash of what it depends on: the
arguments, the bytes of the trace, and wearwell's version. So a study that was killed goes on where it was, and one
that has grown does what is new. ``results`` is a Parquet data set with a row for each cell, in the order of their keys,
a file for all keys that begin alike. It holds nothing that depends on the machine, so its bytes are the same for the
same cells, in whatever order and by however many workers they were done.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import pathlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native, _workers
from ._progress import Progress, reporter
from ._run import Value, texts_of

if TYPE_CHECKING:
    import pyarrow

Path = Union[str, "os.PathLike[str]"]

#: Characters of a key by which the rows of the data set are parted.
PART_DIGITS = 1


@dataclass(frozen=True)
class Volume:
    """A device of a trace, or none for cells without a trace."""

    trace: Optional[str] = None
    device: Optional[str] = None
    #: A hash of the trace's bytes.
    identity: str = ""
    requests: int = 0


@dataclass(frozen=True)
class Cell:
    """One run of a study."""

    #: A hash of all that the result depends on.
    key: str
    #: Arguments by name, as the command line takes them, without the trace.
    arguments: tuple[tuple[str, str], ...]
    #: Where the trace is; its name is in the results, its bytes are in the key.
    trace: Optional[str] = None
    device: Optional[str] = None
    #: Requests of its volume.
    requests: int = field(default=0, compare=False)
    #: About how much memory the run takes, without them.
    memory_bytes: int = field(default=0, compare=False)

    def said(self) -> list[tuple[str, str]]:
        """All arguments of the run but the trace."""
        return [*self.arguments, *([] if self.device is None else [("device", self.device)])]


@dataclass
class Study:
    """What a sweep has done. ``out`` is its folder, ``cells`` are its cells, ``skipped`` the keys of those that were
    done before, and ``failed`` the keys of those that failed, and why."""

    out: pathlib.Path
    cells: list[Cell]
    skipped: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def results(self) -> pathlib.Path:
        """The Parquet data set with a row for each cell."""
        return self.out / "results"

    def table(self) -> pyarrow.Table:
        """A row for each cell: its key, its arguments, ``error`` (null if there was none), and the fields of its
        report, nested ones joined by a dot."""
        import pyarrow.dataset

        return pyarrow.dataset.dataset(self.results, format="parquet").to_table()

    def __repr__(self) -> str:
        new = len(self.cells) - len(self.skipped)
        return f"<wearwell.Study {self.out}: {len(self.cells)} cells, {new} of them new, {len(self.failed)} failed>"


def sweep(
    grid: Mapping[str, Union[Value, Sequence[Value]]],
    traces: Iterable[Path] = (),
    out: Path = "study",
    *,
    workers: Optional[int] = None,
    client: Any = None,
    progress: Progress = True,
) -> Study:
    """Do every run of a study that has not been done.

    :param grid: the arguments of :func:`wearwell.run`; of those with several values all combinations are run.
    :param traces: files, every volume of which is run with all of them; in place of ``workload``. With fsspec also
        URLs, which each worker fetches for itself.
    :param out: the folder of the study.
    :param workers: processes of this machine; by default one for each processor. Fewer run while memory has no room
        for as many.
    :param client: who does the runs instead: a ``distributed.Client``, or the module ``ray``. Traces and packages have
        to be where its workers are. What it raises when it is lost for good is raised here; another call goes on.
    :raises ArgumentError: for an argument that there is not. Values that make no sense are errors of their cells.
    """
    workers = workers or os.cpu_count() or 1
    study = Study(pathlib.Path(out), list(_cells(grid, traces, workers)))
    folder = study.out / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    done_before = {path.stem for path in folder.glob("*.json")}
    study.skipped = [cell.key for cell in study.cells if cell.key in done_before]
    todo = [cell for cell in study.cells if cell.key not in done_before]
    lost: dict[str, str] = {}
    tell, end = reporter(progress, [""])
    try:
        for done, (cell, report) in enumerate(_done(todo, workers, client), 1):
            if isinstance(report, _workers.Lost):
                lost[cell.key] = report.why
            else:
                _write(folder / f"{cell.key}.json", report)
            if tell is not None:
                tell(0, "cells", done, len(todo))
    finally:
        end()
    _collect(study, folder, lost)
    return study


def _done(todo: list[Cell], workers: int, client: Any) -> _workers.Done:
    """Cells and their reports, as they come."""
    batches = list(_workers.batches(todo))
    if client is None:
        return _workers.on_processes(batches, min(workers, max(len(batches), 1)))
    # A module is Ray; whatever else submits is Dask.
    return _workers.on_dask(batches, client) if hasattr(client, "submit") else _workers.on_ray(batches, client)


def _cells(
    grid: Mapping[str, Union[Value, Sequence[Value]]], traces: Iterable[Path], threads: int = 1
) -> Iterator[Cell]:
    """The cells of a study, each once. Those of a volume come one after the other, so that it need not be read for each
    of them."""
    for name in grid:
        _native.check_name(name)
    values = [_several(value) for value in grid.values()]
    combinations = [tuple(sorted(texts_of(dict(zip(grid, chosen))))) for chosen in itertools.product(*values)]
    memory_bytes = [_native.memory_bytes(list(arguments)) for arguments in combinations]
    seen = set()
    for volume in list(_volumes(traces, threads)) or [Volume()]:
        for arguments, room in zip(combinations, memory_bytes):
            depends_on = [_native.__version__, arguments, volume.identity, volume.device]
            key = hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()[:32]
            if key not in seen:
                seen.add(key)
                yield Cell(key, arguments, volume.trace, volume.device, volume.requests, room)


def _several(value: Union[Value, Sequence[Value]]) -> Sequence[Value]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]  # type: ignore[list-item]


def _volumes(traces: Iterable[Path], threads: int) -> Iterator[Volume]:
    """Every volume of every file, in order. Files are read side by side."""
    with ThreadPoolExecutor(threads) as pool:
        for volumes in pool.map(_volumes_of, map(os.fspath, traces)):
            yield from volumes


def _volumes_of(path: str) -> list[Volume]:
    here = _workers.local(path)
    identity = _hash_of(here)
    return [Volume(path, device or None, identity, count) for device, count in _native.Trace.open(here).volumes()]


def _hash_of(path: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open(path, "rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
    except OSError as error:
        raise _native.TraceError(f"{path}: {error.strerror}") from error
    return digest.hexdigest()


def _write(path: pathlib.Path, data: bytes) -> None:
    """A file that is either whole or not there."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(data)
    os.replace(part, path)


def _collect(study: Study, folder: pathlib.Path, lost: Mapping[str, str]) -> None:
    """Puts all cells into one data set."""
    import pyarrow
    import pyarrow.parquet

    rows = []
    for cell in sorted(study.cells, key=lambda cell: cell.key):
        if cell.key in lost:
            report = {"error": lost[cell.key]}
        else:
            report = json.loads((folder / f"{cell.key}.json").read_bytes())
        if report["error"] is not None:
            study.failed[cell.key] = report["error"]
        said = {f"arguments.{name}": text for name, text in cell.arguments}
        trace = {"trace": cell.trace and os.path.basename(cell.trace), "device": cell.device}
        rows.append({"key": cell.key, **trace, **said, **dict(_flat("", report))})
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pyarrow.table({name: [row.get(name) for row in rows] for name in names})
    part = study.out / f".results.{os.getpid()}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    starts = [row["key"][:PART_DIGITS] for row in rows]
    for start, group in itertools.groupby(range(len(rows)), key=lambda at: starts[at]):
        chosen = list(group)
        its = table.slice(chosen[0], len(chosen))
        pyarrow.parquet.write_table(its, part / f"key-{start}.parquet", compression="zstd")
    shutil.rmtree(study.results, ignore_errors=True)
    os.replace(part, study.results)


def _flat(prefix: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Nested fields with dotted names; lists as JSON."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", json.dumps(value) if isinstance(value, list) else value
