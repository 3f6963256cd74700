"""A study of synthetic volumes under twelve policies: cells a second on one process and on several, and on a Dask
cluster; and the same study after a worker was killed.

``python crates/wearwell-py/benches/study.py --volumes 1000``
"""

import argparse
import os
import pathlib
import random
import resource
import signal
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


def bytes_of(study):
    return {path.name: path.read_bytes() for path in sorted(study.results.iterdir())}


def timed(label, traces, out, **who):
    """Does the study, and prints how fast: by the clock, and by the processors' time of all processes."""
    began, used = time.monotonic(), used_seconds()
    study = wearwell.sweep(GRID, traces, out, progress=False, **who)
    seconds, used = time.monotonic() - began, used_seconds() - used
    cells = len(study.cells) - len(study.skipped)
    print(
        f"{label:<28} {cells} cells, {cells / seconds:.0f} a second, {1e3 * used / cells:.2f} ms of processors a cell"
    )
    return study


def used_seconds():
    """Processor time of this process and of those that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def killed_study(traces, out):
    """A study on a cluster of which a worker is killed, and then the scheduler, goes on where it was."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    total = len(traces) * 12

    def kill(run, phase, done, steps):
        if done == total // 4:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        if done == total // 2:
            cluster.close()

    cluster = distributed.LocalCluster(**options)
    client = distributed.Client(cluster)
    try:
        wearwell.sweep(GRID, traces, out, client=client, progress=kill)
    except Exception as error:
        print(f"killed in the middle: {type(error).__name__}")
    client.close()
    return timed("goes on, 2 processes", traces, out, workers=2)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--volumes", type=int, default=1000)
    count = words.parse_args().volumes
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        traces = [root / f"{seed:04}.csv" for seed in range(count)]
        for seed, path in enumerate(traces):
            make_volume(path, seed)
        one = timed("1 process", traces, root / "one", workers=1)
        two = timed("2 processes", traces, root / "two", workers=2)
        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            dask = timed("LocalCluster, 2 processes", traces, root / "dask", client=client)
        killed = killed_study(traces, root / "killed")
        assert bytes_of(one) == bytes_of(two) == bytes_of(dask) == bytes_of(killed)
        greatest = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        print(
            f"equal bytes; greatest process {greatest / 1024:.0f} MiB; {one.table()['host_pages'].to_pylist()[0]} pages a cell"
        )


if __name__ == "__main__":
    main()
