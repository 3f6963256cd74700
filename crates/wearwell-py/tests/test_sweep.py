"""Studies: done once, the same in any order, and not ended by a cell that fails."""

import json
import os
import signal
import subprocess
import sys
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
    assert one.results.read_bytes() == two.results.read_bytes()


def test_what_is_done_is_not_done_again(tmp_path):
    first = wearwell.sweep({**GRID, "seed": 1}, out=tmp_path, workers=1)
    whole = wearwell.sweep(GRID, out=tmp_path, workers=1)
    assert set(whole.skipped) == {cell.key for cell in first.cells} and len(whole.cells) == 4
    # As a study that was killed between two cells.
    (tmp_path / "cells" / f"{whole.cells[0].key}.json").unlink()
    before = whole.results.read_bytes()
    again = wearwell.sweep(GRID, out=tmp_path, workers=1)
    assert len(again.skipped) == 3 and again.results.read_bytes() == before


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
    assert again.results.read_bytes() == whole.results.read_bytes()


def test_a_cell_that_fails_is_recorded(tmp_path):
    study = wearwell.sweep({**GRID, "seed": 1, "which": ["greedy", "gredy"]}, out=tmp_path, workers=1)
    (why,) = study.failed.values()
    assert "did you mean greedy" in why and len(study.cells) == 2
    errors = polars.DataFrame(study.table()).select("arguments.which", "error").rows()
    assert dict(errors)["greedy"] is None and "gredy" in dict(errors)["gredy"]
    with pytest.raises(wearwell.ArgumentError, match="did you mean 'which'"):
        wearwell.sweep({"wich": ["greedy"]}, out=tmp_path)


def test_every_volume_of_a_trace_is_run(tmp_path):
    rows = [f"{at % 3},W,{at * 7919 % 1000 * 4096},4096,{at}" for at in range(3000)]
    (tmp_path / "volumes.csv").write_text("\n".join(rows))
    (tmp_path / "study.toml").write_text(
        'traces = ["*.csv"]\nworkers = 1\n[grid]\nchip = "geometry:4096:32:256"\nwhich = ["greedy", "fifo"]\n'
    )
    command = [sys.executable, "-m", "wearwell", "sweep", str(tmp_path / "study.toml")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "6 cells, 0 of them done before, 0 failed" in done.stdout, done.stderr
    table = polars.read_parquet(tmp_path / "study-results" / "results.parquet")
    assert sorted(table["device"].to_list()) == ["0", "0", "1", "1", "2", "2"] and set(table["trace"]) == {
        "volumes.csv"
    }
    again = subprocess.run(command, capture_output=True, text=True)
    assert "6 cells, 6 of them done before" in again.stdout
    (tmp_path / "study.toml").write_text('[gird]\nchip = "a"\n')
    wrong = subprocess.run(command, capture_output=True, text=True)
    assert wrong.returncode == 2 and "gird" in wrong.stderr


def test_a_cluster_gives_the_same_bytes(tmp_path):
    distributed = pytest.importorskip("distributed")
    here = wearwell.sweep(GRID, out=tmp_path / "here", workers=1)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        there = wearwell.sweep(GRID, out=tmp_path / "there", client=client)
    assert here.results.read_bytes() == there.results.read_bytes()
