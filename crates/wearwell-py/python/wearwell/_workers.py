"""Who does the cells of a study: processes of this machine, a Dask cluster, or a Ray cluster.

Each is a function of batches of cells, and yields every cell once with its report, as they are done. A cell that its
worker did not survive has a :class:`Lost` in place of a report. Cells of a batch with such a one are done again, each
alone.
"""

from __future__ import annotations

import concurrent.futures
import itertools
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

#: Requests of a batch. It takes some tenths of a second, much longer than to hand it out.
BATCH_REQUESTS = 1 << 20

#: Memory of a request in a run.
REQUEST_BYTES = 40

#: Batches of this machine that wait in their process's queue, so that none waits for the next.
AHEAD = 2

#: Memory that is left to others.
LEFT_FREE = 0.2


@dataclass(frozen=True)
class Lost:
    """Why there is no report. Another sweep tries again."""

    why: str


Reports = list[bytes]

#: Arguments of a run, and its trace.
Asked = tuple[list[tuple[str, str]], Optional[str]]

Done = Iterator[tuple["Cell", Union[bytes, Lost]]]


@dataclass(frozen=True)
class Batch:
    """Cells that are done one after the other by one worker."""

    cells: list[Cell]

    @property
    def key(self) -> str:
        return f"wearwell-{self.cells[0].key}-{len(self.cells)}"

    @property
    def memory_bytes(self) -> int:
        """Of its greatest run, beside all its volumes."""
        volumes = {(cell.trace, cell.device): cell.requests for cell in self.cells}
        return max(cell.memory_bytes for cell in self.cells) + sum(volumes.values()) * REQUEST_BYTES

    def asked(self) -> list[Asked]:
        """What a worker needs to know."""
        return [(cell.said(), cell.trace) for cell in self.cells]

    def alone(self) -> list[Batch]:
        return [Batch([cell]) for cell in self.cells]


def batches(cells: Iterable[Cell]) -> Iterator[Batch]:
    """Cells of small volumes together, and others alone: how long a run without a trace takes is not known."""
    batch: list[Cell] = []
    requests = 0
    for cell in cells:
        its = cell.requests or BATCH_REQUESTS
        if batch and requests + its > BATCH_REQUESTS:
            yield Batch(batch)
            batch, requests = [], 0
        batch.append(cell)
        requests += its
    if batch:
        yield Batch(batch)


def do(asked: list[Asked]) -> Reports:
    """Does runs, on a worker: of each its report, or the error that it ended in, as JSON. A volume is read once for
    all."""
    try:
        runs = _native.run_all([(_with_trace(*one), None, (None, None)) for one in asked], 1, None)
    except (_native.Error, OSError) as error:
        if len(asked) == 1:
            return [_json({"error": f"{type(error).__name__}: {error}"})]
        return [report for one in asked for report in do([one])]
    return [_report(run, trace) for run, (_, trace) in zip(runs, asked)]


def _with_trace(said: _native.Said, trace: Optional[str]) -> _native.Said:
    return said if trace is None else [*said, ("workload", f"trace:{local(trace)}")]


def _report(run: _native.Run, trace: Optional[str]) -> bytes:
    report = json.loads(run.json())
    for name in OF_THIS_MACHINE:
        del report[name]
    if trace is not None:
        # Where a trace lies is no part of the result.
        report["config"]["workload"] = f"trace:{os.path.basename(trace)}"
    return _json({"error": None, **report})


def _json(report: dict[str, Any]) -> bytes:
    """As it is kept, so that nobody else has to look into it."""
    return json.dumps(report, sort_keys=True).encode()


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


def on_processes(todo: list[Batch], workers: int) -> Done:
    """Processes of this machine: so many at most, and no more than memory has room for."""
    waiting = deque(todo)
    suspects: list[Batch] = []
    while waiting:
        yield from _pool(waiting, workers, suspects)
    # Batches that were there when a process died.
    for batch in (alone for suspect in suspects for alone in suspect.alone()):
        killed: list[Batch] = []
        yield from _pool(deque([batch]), 1, killed)
        if killed:
            yield batch.cells[0], Lost("its process died: out of memory?")


def _pool(waiting: deque[Batch], workers: int, suspects: list[Batch]) -> Done:
    """Does what is waiting, until all is done or a process dies. Then those that it may have had become suspects."""
    room = free_bytes()
    room = None if room is None else int(room * (1 - LEFT_FREE))
    running: dict[concurrent.futures.Future[Reports], Batch] = {}
    pool = concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        while waiting or running:
            while waiting and len(running) < workers + AHEAD and _fits(waiting[0], running.values(), workers, room):
                batch = waiting[0]
                # A process may have died since. Then the batch was not handed out, and waits for the next pool.
                running[pool.submit(do, batch.asked())] = batch
                waiting.popleft()
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                reports = future.result()
                yield from zip(running.pop(future).cells, reports)
    except BrokenProcessPool:
        suspects.extend(running.values())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _fits(batch: Batch, running: Iterable[Batch], workers: int, room: Optional[int]) -> bool:
    """True if there is memory for a batch beside the greatest of those that may run with it. One always runs."""
    others = sorted((other.memory_bytes for other in running), reverse=True)
    return room is None or not others or batch.memory_bytes + sum(others[: workers - 1]) <= room


def on_dask(todo: list[Batch], client: Any) -> Done:
    """The workers of a ``distributed.Client``. What a lost worker had is done again by another. When the scheduler is
    lost, the client looks for the next one at the same address, and all that has not come is handed out again."""
    from distributed import CancelledError, KilledWorker, as_completed

    batch_of: dict[Any, Batch] = {}
    come = as_completed()
    # In keys, since a scheduler may remember what became of a key.
    number = itertools.count()

    def submit(batch: Batch) -> None:
        future = client.submit(do, batch.asked(), key=f"{batch.key}-{next(number)}")
        batch_of[future] = batch
        come.add(future)

    for batch in todo:
        submit(batch)
    for future in come:
        # Let go of, so that neither the client nor the scheduler keeps every report.
        batch = batch_of.pop(future)
        try:
            reports = future.result()
        except KilledWorker as error:
            if len(batch.cells) == 1:
                yield batch.cells[0], Lost(str(error))
            else:
                for alone in batch.alone():
                    submit(alone)
        except (CancelledError, OSError):
            # It has given up looking.
            if client.status not in ("connecting", "running"):
                raise
            submit(batch)
        else:
            yield from zip(batch.cells, reports)


def on_ray(todo: list[Batch], ray: Any) -> Done:
    """The workers of a Ray cluster that the module ``ray`` is connected to."""
    remote = ray.remote(do)
    batch_of = {remote.remote(batch.asked()): batch for batch in todo}
    while batch_of:
        (done,), _ = ray.wait(list(batch_of), num_returns=1)
        batch = batch_of.pop(done)
        try:
            yield from zip(batch.cells, ray.get(done))
        except ray.exceptions.WorkerCrashedError as error:
            if len(batch.cells) == 1:
                yield batch.cells[0], Lost(str(error))
            else:
                batch_of.update((remote.remote(alone.asked()), alone) for alone in batch.alone())
