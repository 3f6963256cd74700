"""A study of synthetic volumes under twelve policies: cells a second by one process, by two, and by a Dask cluster of
two; and the same study after a worker and the scheduler were killed.

``python crates/wearwell-py/benches/study.py --volumes 1000``
"""

import argparse
import multiprocessing
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

import distributed

import wearwell

#: Pages of a volume, and pages that are written to it.
VOLUME_PAGES, WRITES = 4096, 4096


def make_volume(path, seed):
    """Writes of three kinds, mixed by seed: a log in order, a skewed table, and pages anywhere."""
    drawn = random.Random(seed)
    shares = [drawn.random() for _ in range(3)]
    skew, log = drawn.uniform(1, 20), 0
    rows = []
    for at in range(WRITES):
        kind = drawn.choices(("log", "table", "any"), shares)[0]
        if kind == "log":
            page, log = log % 512, log + 1
        elif kind == "table":
            page = 512 + int(drawn.betavariate(1, skew) * (VOLUME_PAGES - 512))
        else:
            page = drawn.randrange(VOLUME_PAGES)
        rows.append((at, "W", page * 4096, 4096))
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text("\n".join(["time_us,op,offset,length", *lines]))


GRID = {
    "chip": "geometry:4096:64:80",
    "logical": VOLUME_PAGES * 4096,
    "which": ["greedy", "cost-benefit", "cat", "lfs", "fifo", "d-choices:10"],
    "where": ["separate-gc", "sepbit"],
}


ONE_THREAD = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}


def by_processes(count):
    return lambda traces, out: wearwell.sweep(GRID, traces, out, workers=count, progress=False)


def by_cluster(traces, out):
    with distributed.LocalCluster(**ONE_THREAD) as cluster, distributed.Client(cluster) as client:
        return wearwell.sweep(GRID, traces, out, client=client, progress=False)


def used_seconds():
    """Processor time of this process and of those that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def timed(label, sweep, traces, out):
    """Does the study, and prints how fast. Returns it, and its seconds by the clock and of all processors."""
    began, used = time.monotonic(), used_seconds()
    study = sweep(traces, out)
    seconds = time.monotonic() - began
    # Its processes count when they have ended.
    while multiprocessing.active_children():
        time.sleep(0.01)
    used = used_seconds() - used
    cells = len(study.cells) - len(study.skipped)
    assert not study.failed
    speed = f"{cells / seconds:>6.0f} a second {1e3 * used / cells:>6.2f} ms of processors each"
    print(f"{label:<24}{cells:>7} cells {speed}", flush=True)
    return study, seconds, used


def killed_study(traces, out):
    """The study on a cluster of processes, of which a worker is killed, and then the scheduler."""
    file = out.with_suffix(".json")
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    there = ["--scheduler-file", file, "--no-dashboard"]
    scheduler = subprocess.Popen([*dask, "scheduler", "--port", "0", *there], **quiet)
    work = [*dask, "worker", "--nthreads", "1", "--no-nanny", *there]
    workers = [subprocess.Popen(work, **quiet) for _ in range(2)]
    total = len(traces) * 12

    def kill(run, phase, done, steps):
        for process, at in ((workers[0], total // 4), (scheduler, total // 2)):
            if done >= at and process.poll() is None:
                process.kill()
                process.wait()

    client = distributed.Client(scheduler_file=str(file))
    client.wait_for_workers(2)
    try:
        wearwell.sweep(GRID, traces, out, client=client, progress=kill)
    except Exception as error:
        print(f"a worker and the scheduler killed: {type(error).__name__}")
    client.close(timeout=1)
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


def bytes_of(study):
    return {path.name: path.read_bytes() for path in sorted(study.results.iterdir())}


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--volumes", type=int, default=1000)
    count = words.parse_args().volumes
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        traces = [root / f"{seed:04}.csv" for seed in range(count)]
        for seed, path in enumerate(traces):
            make_volume(path, seed)
        one, by_one, used_by_one = timed("one process", by_processes(1), traces, root / "one")
        studies = [one]
        for label, sweep in (("two processes", by_processes(2)), ("LocalCluster of two", by_cluster)):
            study, seconds, used = timed(label, sweep, traces, root / label)
            print(f"    efficiency {by_one / seconds / 2:.2f} by the clock, {used_by_one / used:.2f} by processor time")
            studies.append(study)
        killed_study(traces, root / "killed")
        studies.append(timed("goes on, two processes", by_processes(2), traces, root / "killed")[0])
        assert all(bytes_of(study) == bytes_of(one) for study in studies)
        greatest = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        pages = one.table()["host_pages"].to_pylist()
        print(f"equal bytes; {sum(pages) / 12:,.0f} pages written per policy; greatest process {greatest >> 10} MiB")


if __name__ == "__main__":
    main()
