"""Who does the cells of a study: processes of this machine, a Dask cluster, or a Ray cluster.

Each is a function of the cells, and yields every cell once with its report, as they are done. A cell that its worker
did not survive has a :class:`Lost` in place of a report.
"""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native

if TYPE_CHECKING:
    from ._sweep import Cell

#: Fields of a report that depend on the machine and not on the cell.
OF_THIS_MACHINE = ("wall_seconds", "host_pages_per_wall_second", "pages_programmed_per_wall_second")

#: Cells of this machine that wait in their process's queue, so that none waits for the next.
AHEAD = 2

#: Memory that is left to others.
LEFT_FREE = 0.2


@dataclass(frozen=True)
class Lost:
    """Why there is no report. Another sweep tries again."""

    why: str


Done = Iterator[tuple["Cell", Union[dict[str, Any], Lost]]]


def do(said: list[tuple[str, str]], trace: Optional[str]) -> dict[str, Any]:
    """Does a run, on a worker: its report, or the error that it ended in."""
    try:
        more = [] if trace is None else [("workload", f"trace:{local(trace)}")]
        (run,) = _native.run_all([([*said, *more], None, (None, None))], 1, None)
    except (_native.Error, OSError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    report = json.loads(run.json())
    for name in OF_THIS_MACHINE:
        del report[name]
    if trace is not None:
        # Where a trace lies is no part of the result.
        report["config"]["workload"] = f"trace:{os.path.basename(trace)}"
    return {"error": None, **report}


def local(trace: str) -> str:
    """A trace's path on this machine. What is not here is fetched, once for each machine."""
    if "://" not in trace:
        return trace
    import fsspec

    return fsspec.open_local(f"simplecache::{trace}", simplecache={"same_names": False})


def free_bytes() -> Optional[int]:
    """Memory that this machine can give; none if it does not say."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":") for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def on_processes(todo: Iterable[Cell], workers: int) -> Done:
    """Processes of this machine: so many at most, and no more than memory has room for."""
    waiting = deque(todo)
    suspects: list[Cell] = []
    while waiting:
        yield from _pool(waiting, workers, suspects)
    # Cells that were there when a process died are done again, each alone, to find the one that did it.
    for cell in suspects:
        killed: list[Cell] = []
        yield from _pool(deque([cell]), 1, killed)
        if killed:
            yield cell, Lost("its process died: out of memory?")


def _pool(waiting: deque[Cell], workers: int, suspects: list[Cell]) -> Done:
    """Does what is waiting, until all is done or a process dies. Then those that it may have had become suspects."""
    room = free_bytes()
    room = None if room is None else int(room * (1 - LEFT_FREE))
    running: dict[concurrent.futures.Future[dict[str, Any]], Cell] = {}
    pool = concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        while waiting or running:
            while waiting and len(running) < workers + AHEAD and _fits(waiting[0], running.values(), workers, room):
                cell = waiting.popleft()
                running[pool.submit(do, cell.said(), cell.trace)] = cell
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                report = future.result()
                yield running.pop(future), report
    except BrokenProcessPool:
        suspects.extend(running.values())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _fits(cell: Cell, running: Iterable[Cell], workers: int, room: Optional[int]) -> bool:
    """True if there is memory for a cell beside the greatest of those that may run with it. One always runs."""
    others = sorted((other.memory_bytes for other in running), reverse=True)
    return room is None or not others or cell.memory_bytes + sum(others[: workers - 1]) <= room


def on_dask(todo: Iterable[Cell], client: Any) -> Done:
    """The workers of a ``distributed.Client``. What a lost worker had is done again by another."""
    from distributed import KilledWorker, as_completed

    cell_of = {client.submit(do, cell.said(), cell.trace, key=f"wearwell-{cell.key}"): cell for cell in todo}
    for future in as_completed(list(cell_of)):
        # Let go of, so that neither the client nor the scheduler keeps every report.
        cell = cell_of.pop(future)
        try:
            yield cell, future.result()
        except KilledWorker as error:
            yield cell, Lost(str(error))


def on_ray(todo: Iterable[Cell], ray: Any) -> Done:
    """The workers of a Ray cluster that the module ``ray`` is connected to."""
    remote = ray.remote(do)
    cell_of = {remote.remote(cell.said(), cell.trace): cell for cell in todo}
    while cell_of:
        (done,), _ = ray.wait(list(cell_of), num_returns=1)
        cell = cell_of.pop(done)
        try:
            yield cell, ray.get(done)
        except ray.exceptions.WorkerCrashedError as error:
            yield cell, Lost(str(error))
