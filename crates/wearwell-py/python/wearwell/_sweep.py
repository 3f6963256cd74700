"""Studies: the product of parameters, volumes and seeds, each cell a run of its own.

A study lies in a folder. Every cell that is done is a file in ``cells``, named by a hash of what it depends on: the
arguments, the bytes of the trace, and wearwell's version. So a study that was killed goes on where it was, and one
that has grown does what is new. ``results.parquet`` has a row for each cell, in the order of their keys, without what
depends on the machine; so its bytes are the same for the same cells, in whatever order and by however many workers
they were done.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import itertools
import json
import multiprocessing
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from . import _native
from ._progress import Progress, reporter
from ._run import Value, texts_of
from ._trace import Trace

if TYPE_CHECKING:
    import pyarrow

#: Fields of a report that depend on the machine and not on the cell.
OF_THIS_MACHINE = ("wall_seconds", "host_pages_per_wall_second", "pages_programmed_per_wall_second")

Path = Union[str, "os.PathLike[str]"]


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

    def said(self) -> list[tuple[str, str]]:
        """All arguments of the run."""
        more = [] if self.trace is None else [("workload", f"trace:{self.trace}")]
        return [*self.arguments, *more, *([] if self.device is None else [("device", self.device)])]


@dataclass
class Study:
    """What a sweep has done: its cells, and where they are."""

    out: pathlib.Path
    cells: list[Cell]
    #: Keys of cells that were done before.
    skipped: list[str] = field(default_factory=list)
    #: Keys of cells that failed, and why.
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def results(self) -> pathlib.Path:
        """The Parquet file with a row for each cell."""
        return self.out / "results.parquet"

    def table(self) -> pyarrow.Table:
        """A row for each cell: its key, its arguments, ``error`` (null if there was none), and the fields of its
        report, nested ones joined by a dot."""
        import pyarrow.parquet

        return pyarrow.parquet.read_table(self.results)

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
    :param traces: files, every volume of which is run with all of them; in place of ``workload``.
    :param out: the folder of the study.
    :param workers: processes of this machine; by default one for each processor.
    :param client: a ``dask.distributed.Client`` that does the runs instead; traces and packages have to be where its
        workers are.
    :raises ArgumentError: for an argument that there is not. Values that make no sense are errors of their cells.
    """
    study = Study(pathlib.Path(out), list(_cells(grid, traces)))
    folder = study.out / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    is_done = {cell.key: (folder / f"{cell.key}.json").exists() for cell in study.cells}
    study.skipped = [key for key, done in is_done.items() if done]
    todo = [cell for cell in study.cells if not is_done[cell.key]]
    tell, end = reporter(progress, [""])
    try:
        for done, (cell, report) in enumerate(_finished(todo, workers, client), 1):
            _write(folder / f"{cell.key}.json", json.dumps(report, sort_keys=True).encode())
            if tell is not None:
                tell(0, "cells", done, len(todo))
    finally:
        end()
    _collect(study, folder)
    return study


def _cells(grid: Mapping[str, Union[Value, Sequence[Value]]], traces: Iterable[Path]) -> Iterator[Cell]:
    """The cells of a study, each once."""
    for name in grid:
        _native.check_name(name)
    values = [_several(value) for value in grid.values()]
    volumes = list(_volumes(traces)) or [(None, None, "")]
    seen = set()
    for chosen in itertools.product(*values):
        arguments = tuple(sorted(texts_of(dict(zip(grid, chosen)))))
        for path, device, identity in volumes:
            depends_on = [_native.__version__, arguments, identity, device]
            key = hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()[:32]
            if key not in seen:
                seen.add(key)
                yield Cell(key, arguments, path, device)


def _several(value: Union[Value, Sequence[Value]]) -> Sequence[Value]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]  # type: ignore[list-item]


def _volumes(traces: Iterable[Path]) -> Iterator[tuple[Optional[str], Optional[str], str]]:
    """Path, device, and a hash of the file's bytes, for every volume of every file."""
    for trace in traces:
        path = os.fspath(trace)
        identity = _hash_of(path)
        for device in Trace(path).volumes():
            yield path, device or None, identity


def _hash_of(path: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open(path, "rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
    except OSError as error:
        raise _native.TraceError(f"{path}: {error.strerror}") from error
    return digest.hexdigest()


def do(said: list[tuple[str, str]]) -> dict[str, Any]:
    """Does a run, on a worker: its report, or the error that it ended in."""
    try:
        (run,) = _native.run_all([(said, None)], 1, None)
    except _native.Error as error:
        return {"error": f"{type(error).__name__}: {error}"}
    report = json.loads(run.json())
    for name in OF_THIS_MACHINE:
        del report[name]
    return {"error": None, **report}


def _finished(todo: list[Cell], workers: Optional[int], client: Any) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Cells and their reports, as they come."""
    if client is not None:
        from distributed import as_completed

        # Pure: a cell that a lost worker had is done again by another, and is the same.
        yield from _completed(
            todo, lambda cell: client.submit(do, cell.said(), key=f"wearwell-{cell.key}"), as_completed
        )
        return
    count = min(workers or os.cpu_count() or 1, max(len(todo), 1))
    with concurrent.futures.ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as pool:
        try:
            yield from _completed(todo, lambda cell: pool.submit(do, cell.said()), concurrent.futures.as_completed)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _completed(
    todo: list[Cell], submit: Callable[[Cell], Any], as_completed: Callable[[list[Any]], Iterable[Any]]
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    submitted = [(submit(cell), cell) for cell in todo]
    cell_of = dict(submitted)
    for future in as_completed(list(cell_of)):
        yield cell_of[future], future.result()


def _write(path: pathlib.Path, data: bytes) -> None:
    """A file that is either whole or not there."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(data)
    os.replace(part, path)


def _collect(study: Study, folder: pathlib.Path) -> None:
    """Puts all cells into one table."""
    import pyarrow
    import pyarrow.parquet

    rows = []
    for cell in sorted(study.cells, key=lambda cell: cell.key):
        report = json.loads((folder / f"{cell.key}.json").read_bytes())
        if report["error"] is not None:
            study.failed[cell.key] = report["error"]
        said = {f"arguments.{name}": text for name, text in cell.arguments}
        trace = {"trace": cell.trace and os.path.basename(cell.trace), "device": cell.device}
        rows.append({"key": cell.key, **trace, **said, **dict(_flat("", report))})
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    buffer = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer, compression="zstd")
    _write(study.results, buffer.getvalue().to_pybytes())


def _flat(prefix: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Nested fields with dotted names; lists as JSON."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", json.dumps(value) if isinstance(value, list) else value
