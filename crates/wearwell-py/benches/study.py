"""A study of synthetic volumes under twelve policies: cells a second by one process, by two, and by a Dask cluster of
two; and on a cluster of which a worker and the scheduler are killed.

``python crates/wearwell-py/benches/study.py --volumes 1000``
"""

import argparse
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import time

import wearwell

# The rest is imported where it is needed: processes of a sweep import this file, too, and have to wait for it.

#: Pages of a volume, and pages that are written to it.
VOLUME_PAGES, WRITES = 4096, 16384

#: Pages of its log.
LOG_PAGES = 512


def make_volume(path, seed):
    """Writes of three kinds, mixed by seed: a log in order, a skewed table, and pages anywhere."""
    import numpy
    import polars

    drawn = numpy.random.default_rng(seed)
    kind = drawn.choice(3, WRITES, p=drawn.dirichlet((1, 1, 1)))
    log = numpy.cumsum(kind == 0) % LOG_PAGES
    table = LOG_PAGES + drawn.beta(1, drawn.uniform(1, 20), WRITES) * (VOLUME_PAGES - LOG_PAGES)
    page = numpy.choose(kind, (log, table.astype(int), drawn.integers(VOLUME_PAGES, size=WRITES)))
    columns = {"time_us": numpy.arange(WRITES), "op": "W", "offset": page * 4096, "length": 4096}
    polars.DataFrame(columns).write_csv(path)


GRID = {
    "chip": "geometry:4096:64:80",
    "logical": VOLUME_PAGES * 4096,
    "which": ["greedy", "cost-benefit", "cat", "lfs", "fifo", "d-choices:10"],
    "where": ["separate-gc", "sepbit"],
}


ONE_THREAD = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}


def by_them(**workers):
    return lambda traces, out: wearwell.sweep(GRID, traces, out, **workers, progress=False)


def used_seconds():
    """Processor time of this process, of its children, and of those that have ended."""
    import psutil

    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    here = psutil.Process()
    running = [process.cpu_times() for process in (here, *here.children(recursive=True))]
    return ended.ru_utime + ended.ru_stime + sum(times.user + times.system for times in running)


def timed(label, sweep, traces, out):
    """Does the study, and prints how fast. Returns it, and its seconds by the clock and of all processors."""
    began, used = time.monotonic(), used_seconds()
    study = sweep(traces, out)
    seconds, used = time.monotonic() - began, used_seconds() - used
    cells = len(study.cells) - len(study.skipped)
    assert not study.failed
    speed = f"{cells / seconds:>6.0f} a second {1e3 * used / cells:>6.2f} ms of processors each"
    print(f"{label:<24}{cells:>7} cells {speed}", flush=True)
    return study, seconds, used


def killed_study(traces, out):
    """The study on a cluster of processes, of which a worker is killed, and then the scheduler. Then others are
    started, as whoever looks after a cluster does."""
    import distributed

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address, running = f"tcp://127.0.0.1:{port}", []

    def start(*words):
        command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
        running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return running[-1]

    def start_cluster():
        scheduler = start("scheduler", "--host", "127.0.0.1", "--port", port)
        return scheduler, [start("worker", address, "--nthreads", "1", "--no-nanny") for _ in range(2)]

    scheduler, (worker, _) = start_cluster()
    total = len(traces) * 12

    def kill(run, phase, done, steps):
        if done >= total // 4:
            worker.kill()
        if done >= total // 2 and scheduler.poll() is None:
            scheduler.kill()
            scheduler.wait()
            start_cluster()

    try:
        with distributed.Client(address, timeout="60s") as client:
            client.wait_for_workers(2)
            return wearwell.sweep(GRID, traces, out, client=client, progress=kill)
    finally:
        for process in running:
            process.kill()
            process.wait()


def bytes_of(study):
    return {path.name: path.read_bytes() for path in sorted(study.results.iterdir())}


def main():
    import distributed

    words = argparse.ArgumentParser()
    words.add_argument("--volumes", type=int, default=1000)
    count = words.parse_args().volumes
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        traces = [root / f"{seed:04}.csv" for seed in range(count)]
        for seed, path in enumerate(traces):
            make_volume(path, seed)
        one, by_one, used_by_one = timed("one process", by_them(workers=1), traces, root / "one")
        studies = [one]

        def beside(label, **two):
            study, seconds, used = timed(label, by_them(**two), traces, root / label)
            print(f"    efficiency {by_one / seconds / 2:.2f} by the clock, {used_by_one / used:.2f} by processor time")
            studies.append(study)

        beside("two processes", workers=2)
        with distributed.LocalCluster(**ONE_THREAD) as cluster, distributed.Client(cluster) as client:
            beside("LocalCluster of two", client=client)
        studies.append(timed("worker, scheduler killed", killed_study, traces, root / "killed")[0])
        assert all(bytes_of(study) == bytes_of(one) for study in studies)
        greatest = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        pages = one.table()["host_pages"].to_pylist()
        print(f"equal bytes; {sum(pages) / 12:,.0f} pages written per policy; greatest process {greatest >> 10} MiB")


if __name__ == "__main__":
    main()
