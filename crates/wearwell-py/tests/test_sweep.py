"""Studies: done once, the same in any order, and not ended by a cell that fails."""

import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time

import polars
import pytest

import wearwell

GRID = {
    "chip": "geometry:4096:32:256",
    "workload": "zipf:0.99",
    "write": "16MiB",
    "which": ["greedy", "cat"],
    "seed": [1, 2],
}


def bytes_of(study):
    """The results, byte by byte."""
    return {path.name: path.read_bytes() for path in sorted(study.results.iterdir())}


def test_every_combination_is_a_row(tmp_path):
    study = wearwell.sweep(GRID, out=tmp_path, workers=2)
    assert len(study.cells) == 4 and not study.failed and not study.skipped
    table = polars.DataFrame(study.table())
    said = set(table.select("arguments.which", "arguments.seed").iter_rows())
    assert said == {("greedy", "1"), ("greedy", "2"), ("cat", "1"), ("cat", "2")}
    (greedy,) = table.filter(
        (polars.col("arguments.which") == "greedy") & (polars.col("arguments.seed") == "2")
    ).to_dicts()
    alone = wearwell.run(**{**GRID, "which": "greedy", "seed": 2})
    assert greedy["map_digest"] == alone.map_digest and greedy["erase_count.max"] == alone.erase_count.max


def test_the_bytes_are_the_same_in_any_order_by_any_number_of_workers(tmp_path):
    one = wearwell.sweep(GRID, out=tmp_path / "one", workers=1)
    turned = dict(reversed([(name, value[::-1] if isinstance(value, list) else value) for name, value in GRID.items()]))
    two = wearwell.sweep(turned, out=tmp_path / "two", workers=2)
    assert bytes_of(one) == bytes_of(two)


def test_what_is_done_is_not_done_again(tmp_path):
    first = wearwell.sweep({**GRID, "seed": 1}, out=tmp_path, workers=1)
    whole = wearwell.sweep(GRID, out=tmp_path, workers=1)
    assert set(whole.skipped) == {cell.key for cell in first.cells} and len(whole.cells) == 4
    # As a study that was killed between two cells.
    (tmp_path / "cells" / f"{whole.cells[0].key}.json").unlink()
    before = bytes_of(whole)
    again = wearwell.sweep(GRID, out=tmp_path, workers=1)
    assert len(again.skipped) == 3 and bytes_of(again) == before


def test_a_study_that_is_killed_goes_on_where_it_was(tmp_path):
    seeds = list(range(40))
    whole = wearwell.sweep({**GRID, "seed": seeds}, out=tmp_path / "whole", workers=1)
    grid = "".join(f"{name} = {json.dumps(value)}\n" for name, value in {**GRID, "seed": seeds}.items())
    (tmp_path / "study.toml").write_text(f"out = 'killed'\nworkers = 2\n[grid]\n{grid}")
    command = [sys.executable, "-m", "wearwell", "sweep", str(tmp_path / "study.toml")]
    child = subprocess.Popen(command, start_new_session=True)
    while len(list((tmp_path / "killed" / "cells").glob("*.json"))) < 5:
        assert child.poll() is None, "it ended before it was killed"
        time.sleep(0.005)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    again = wearwell.sweep({**GRID, "seed": seeds}, out=tmp_path / "killed", workers=1)
    assert 5 <= len(again.skipped) < len(again.cells) == 80
    assert bytes_of(again) == bytes_of(whole)


def test_a_cell_that_fails_is_recorded(tmp_path):
    study = wearwell.sweep({**GRID, "seed": 1, "which": ["greedy", "gredy"]}, out=tmp_path, workers=1)
    (why,) = study.failed.values()
    assert "did you mean greedy" in why and len(study.cells) == 2
    errors = polars.DataFrame(study.table()).select("arguments.which", "error").rows()
    assert dict(errors)["greedy"] is None and "gredy" in dict(errors)["gredy"]
    with pytest.raises(wearwell.ArgumentError, match="did you mean 'which'"):
        wearwell.sweep({"wich": ["greedy"]}, out=tmp_path)


def kill_one_in(tmp_path, monkeypatch, seed):
    """Makes the process die that does the cell of a seed, as if memory had run out."""
    hook = f"""
import os, wearwell._native as native
real = native.run_all
def run_all(asked, *rest):
    if any(("seed", "{seed}") in said for said, *_ in asked):
        os.kill(os.getpid(), 9)
    return real(asked, *rest)
native.run_all = run_all
"""
    (tmp_path / "sitecustomize.py").write_text(hook)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_a_cell_that_kills_its_process_is_lost_alone(tmp_path, monkeypatch):
    grid = {**GRID, "which": "greedy", "seed": [1, 2, 3, 4, 5, 6]}
    with monkeypatch.context() as changed:
        kill_one_in(tmp_path, changed, seed=3)
        study = wearwell.sweep(grid, out=tmp_path / "killed", workers=2)
    (why,) = study.failed.values()
    assert "process died" in why and study.table().num_rows == 6
    whole = wearwell.sweep(grid, out=tmp_path / "whole", workers=1)
    again = wearwell.sweep(grid, out=tmp_path / "killed", workers=1)
    assert len(again.skipped) == 5 and not again.failed and bytes_of(again) == bytes_of(whole)


def test_of_a_batch_only_the_cell_is_lost_that_kills_its_process(tmp_path, monkeypatch):
    trace = volume(tmp_path / "volume.csv", 1000)
    grid = {"chip": "geometry:4096:32:64", "logical": "6MiB", "seed": [1, 2, 3, 4]}
    with monkeypatch.context() as changed:
        kill_one_in(tmp_path, changed, seed=3)
        study = wearwell.sweep(grid, [trace], tmp_path / "killed", workers=2)
    (lost,) = study.failed
    (cell,) = (cell for cell in study.cells if cell.key == lost)
    assert ("seed", "3") in cell.arguments and study.table().num_rows == 4


def test_memory_limits_how_many_run(monkeypatch):
    from wearwell import _workers
    from wearwell._sweep import Cell

    small, great = (_workers.Batch([Cell("a", (), memory_bytes=room)]) for room in (100, 900))
    assert _workers._fits(great, [], 2, 500), "one always runs"
    assert not _workers._fits(great, [small], 2, 500)
    assert _workers._fits(small, [small] * 3, 2, 200), "of two workers, one does the others in turn"
    assert not _workers._fits(small, [small] * 3, 3, 200)
    (cell,) = wearwell._sweep._cells({"chip": "geometry:4096:64:1024"}, [])
    assert cell.memory_bytes > 64 * 1024 * 4


def volume(path, pages):
    """A trace that rewrites its pages."""
    rows = [f"{at},W,{at * 7919 % pages * 4096},4096" for at in range(4 * pages)]
    path.write_text("\n".join(["time_us,op,offset,length", *rows]))
    return path


def test_cells_of_small_volumes_go_together_and_an_error_is_of_its_cell(tmp_path, monkeypatch):
    from wearwell import _workers

    grid = {"chip": "geometry:4096:32:64", "logical": "6MiB", "which": ["greedy", "gredy", "cat"]}
    volumes = [volume(tmp_path / f"{pages}.csv", pages) for pages in (1000, 1100, 1200)]
    cells = list(wearwell._sweep._cells(grid, volumes))
    assert [len(batch.cells) for batch in _workers.batches(cells)] == [9]
    together = wearwell.sweep(grid, volumes, tmp_path / "together", workers=1)
    assert len(together.cells) == 9 and len(together.failed) == 3
    monkeypatch.setattr(_workers, "BATCH_REQUESTS", 9000)
    assert [len(batch.cells) for batch in _workers.batches(cells)] == [2, 2, 2, 1, 1, 1]
    apart = wearwell.sweep(grid, volumes, tmp_path / "apart", workers=1)
    assert bytes_of(together) == bytes_of(apart)
    without_traces = wearwell._sweep._cells({"chip": "geometry:4096:32:64", "seed": [1, 2]}, [])
    assert [len(batch.cells) for batch in _workers.batches(without_traces)] == [1, 1]


def test_traces_have_urls(tmp_path):
    pytest.importorskip("fsspec")
    (tmp_path / "a.csv").write_text("time_us,op,offset,length\n" + "1,W,0,4096\n" * 5)
    grid = {"chip": "geometry:4096:32:256", "which": ["greedy", "cat"]}
    here = wearwell.sweep(grid, [tmp_path / "a.csv"], tmp_path / "here", workers=1)
    there = wearwell.sweep(grid, [f"file://{tmp_path}/a.csv"], tmp_path / "there", workers=1)
    assert not there.failed and bytes_of(here) == bytes_of(there)


def test_every_volume_of_a_trace_is_run(tmp_path, command):
    rows = [f"{at % 3},W,{at * 7919 % 1000 * 4096},4096,{at}" for at in range(3000)]
    (tmp_path / "volumes.csv").write_text("\n".join(rows))
    (tmp_path / "study.toml").write_text(
        'traces = ["*.csv"]\nworkers = 1\n[grid]\nchip = "geometry:4096:32:256"\nwhich = ["greedy", "fifo"]\n'
    )
    by_module = [sys.executable, "-m", "wearwell", "sweep", str(tmp_path / "study.toml")]
    done = subprocess.run(by_module, capture_output=True, text=True)
    assert done.returncode == 0 and "6 cells, 0 of them done before, 0 failed" in done.stdout, done.stderr
    table = polars.read_parquet(tmp_path / "study-results" / "results" / "*.parquet")
    assert sorted(table["device"].to_list()) == ["0", "0", "1", "1", "2", "2"] and set(table["trace"]) == {
        "volumes.csv"
    }
    again = subprocess.run(by_module, capture_output=True, text=True)
    assert "6 cells, 6 of them done before" in again.stdout
    scripts = {**os.environ, "PATH": sysconfig.get_path("scripts")}
    of_the_command = [command, "sweep", str(tmp_path / "study.toml")]
    again = subprocess.run(of_the_command, capture_output=True, text=True, env=scripts)
    assert again.returncode == 0 and "6 cells, 6 of them done before" in again.stdout, again.stderr
    without = subprocess.run(of_the_command, capture_output=True, text=True, env={"PATH": str(tmp_path)})
    assert without.returncode == 2 and "wearwell[sweep]" in without.stderr
    (tmp_path / "study.toml").write_text('[gird]\nchip = "a"\n')
    wrong = subprocess.run(by_module, capture_output=True, text=True)
    assert wrong.returncode == 2 and "gird" in wrong.stderr


class Cluster:
    """A scheduler and workers, processes of their own that can be killed."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.running = []

    def start(self, workers):
        """A scheduler, always at the same address, and workers. Gives them back."""
        began = [self._run("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")]
        work = ("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        return [*began, *(self._run(*work) for _ in range(workers))]

    def _run(self, *words):
        command = [sys.executable, "-m", "dask", *words]
        self.running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return self.running[-1]


@pytest.fixture
def cluster():
    pytest.importorskip("distributed")
    made = Cluster()
    yield made
    for process in made.running:
        process.kill()
        process.wait()


def test_a_killed_worker_and_a_killed_scheduler_change_nothing(tmp_path, cluster):
    import distributed

    grid = {**GRID, "seed": list(range(30)), "write": "64MiB"}
    scheduler, worker, _ = cluster.start(workers=2)
    kills = {5: [worker], 20: [scheduler]}

    def kill_now_and_then(run, phase, done, steps):
        for process in kills.pop(done, ()):
            process.kill()
            process.wait()
            if process is scheduler:
                # As whoever looks after a cluster does.
                kills["second"] = cluster.start(workers=1)

    with distributed.Client(cluster.address, timeout="60s") as client:
        client.wait_for_workers(2)
        study = wearwell.sweep(grid, out=tmp_path / "killed", client=client, progress=kill_now_and_then)
    assert "second" in kills and len(study.cells) == 60 and not study.skipped and not study.failed
    assert bytes_of(study) == bytes_of(wearwell.sweep(grid, out=tmp_path / "whole", workers=2))

    def kill_for_good(run, phase, done, steps):
        kills["second"][0].kill()

    grown = {**grid, "seed": list(range(40))}
    with distributed.Client(cluster.address, timeout="1s") as client, pytest.raises(distributed.CancelledError):
        wearwell.sweep(grown, out=tmp_path / "killed", client=client, progress=kill_for_good)
    again = wearwell.sweep(grown, out=tmp_path / "killed", workers=2)
    assert 61 <= len(again.skipped) < 80
    assert bytes_of(again) == bytes_of(wearwell.sweep(grown, out=tmp_path / "whole", workers=2))


def test_ray_gives_the_same_bytes(tmp_path):
    ray = pytest.importorskip("ray")
    here = wearwell.sweep(GRID, out=tmp_path / "here", workers=1)
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        there = wearwell.sweep(GRID, out=tmp_path / "there", client=ray)
    finally:
        ray.shutdown()
    assert bytes_of(here) == bytes_of(there)


def test_a_cluster_gives_the_same_bytes(tmp_path):
    distributed = pytest.importorskip("distributed")
    here = wearwell.sweep(GRID, out=tmp_path / "here", workers=1)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        there = wearwell.sweep(GRID, out=tmp_path / "there", client=client)
    assert bytes_of(here) == bytes_of(there)
