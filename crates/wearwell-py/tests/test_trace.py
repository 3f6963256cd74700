"""Traces from files, columns and rows."""

import gzip
import subprocess
import sys
import textwrap

import pandas
import polars
import pyarrow
import pytest

import wearwell

ROWS = [(0, "W", 0, 8192), (10, "R", 4096, 4096), (25, "W", 4096, 4096), (40, "D", 0, 4096), (41, "F", 0, 0)]

MSR = """\
128166372003061629,usr,0,Write,8192,4096,41286
128166372003061729,src,1,Write,0,4096,41286
128166372003061829,usr,0,Read,8192,4096,41286
128166372003061929,usr,0,Write,8192,4096,41286
"""

#: A timed chip, small enough to be cleaned.
SMALL = {"chip": "geometry:4096:32:256"}


def columns():
    names = ("time_us", "op", "offset", "length")
    return {name: [row[at] for row in ROWS] for at, name in enumerate(names)}


@pytest.fixture
def msr(tmp_path):
    path = tmp_path / "msr.csv.gz"
    path.write_bytes(gzip.compress(MSR.encode()))
    return path


@pytest.mark.parametrize(
    "table", [pandas.DataFrame, polars.DataFrame, pyarrow.table, lambda _: ROWS, lambda _: iter(ROWS)]
)
def test_a_trace_is_made_of_columns_or_rows(table):
    trace = wearwell.Trace(table(columns()))
    assert list(trace) == [(*row, 0, "") for row in ROWS]
    (stats,) = trace.stats().values()
    assert (stats.requests, stats.reads, stats.writes, stats.discards, stats.flushes) == (5, 1, 2, 1, 1)
    assert stats.written_bytes == 12288 and stats.working_set_bytes == 8192 and stats.duration_us == 41
    # The second page is written twice, with no other in between.
    assert stats.update_interval_bytes[0] == [0.1, 8192] and stats.writes_to_top_fifth == pytest.approx(2 / 3)


def test_volumes_of_a_file_are_told_apart(msr):
    trace = wearwell.Trace(msr)
    assert trace.volumes() == ["src,1", "usr,0"]
    assert trace.stats()["usr,0"].write_ratio == pytest.approx(2 / 3)
    table = pyarrow.table(trace)
    assert table["device"].to_pylist() == ["usr,0", "src,1", "usr,0", "usr,0"]
    assert wearwell.run(workload=trace, device="usr,0", **SMALL).host_pages == 2
    with pytest.raises(wearwell.TraceError, match="--device"):
        wearwell.run(workload=trace, **SMALL)


def test_a_run_is_the_same_wherever_its_trace_comes_from(msr, tmp_path):
    own = tmp_path / "own.csv"
    rows = [f"{at},W,{at * 7919 % 1500 * 4096},4096" for at in range(20000)]
    own.write_text("\n".join(["time_us,op,offset,length", *rows]))
    of_file = wearwell.Trace(own)
    parquet = [tmp_path / f"{name}.parquet" for name in ("own", "polars", "pandas")]
    of_file.to_parquet(parquet[0])
    polars.read_csv(own).write_parquet(parquet[1])
    pandas.read_csv(own).to_parquet(parquet[2])
    sources = [of_file, wearwell.Trace(polars.read_csv(own)), *map(wearwell.Trace, parquet)]
    digests = {wearwell.run(workload=workload, **SMALL).map_digest for workload in (f"trace:{own}", *sources)}
    assert len(digests) == 1
    assert all(list(source) == list(of_file) for source in sources)


def test_parquet_is_written_whole_or_not_at_all(tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("time_us,op,offset,length\n0,W,0,4096\n1,Q,0,1\n")
    with pytest.raises(wearwell.TraceError, match="line 3"):
        wearwell.Trace(bad).to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(wearwell.TraceError, match="nowhere"):
        wearwell.Trace(ROWS).to_parquet(tmp_path / "nowhere" / "a.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_requests_come_at_their_times():
    trace = wearwell.Trace([(0, "W", 0, 2048), (5_000_000, "W", 2048, 2048)])
    assert wearwell.run(workload=trace).sim_seconds < 1
    assert 5 < wearwell.run(workload=trace, pace="trace").sim_seconds < 6
    assert 0.5 < wearwell.run(workload=trace, pace="trace", speedup=10).sim_seconds < 0.6


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([(0, "X", 0, 1)], "row 1: unknown operation `X`"),
        ([(0, "W", 0)], "the form is"),
        ([(0, "W", -1, 1)], "row 1"),
        (polars.DataFrame({"time_us": [0], "op": ["W"], "offset": [0]}), "there is no column `length`"),
        (
            polars.DataFrame({"time_us": [0, 1], "op": ["W", "W"], "offset": [0, None], "length": [1, 1]}),
            "column `offset`",
        ),
    ],
)
def test_what_is_no_trace_is_refused(source, message):
    with pytest.raises(wearwell.TraceError, match=message):
        wearwell.Trace(source)


def test_a_request_for_nothing_is_refused_when_it_is_replayed():
    with pytest.raises(wearwell.TraceError, match="record 2: Write of length 0"):
        wearwell.run(workload=wearwell.Trace([(0, "W", 0, 4096), (1, "W", 0, 0)]))


def test_batches_that_nobody_takes_end(msr):
    batches = pyarrow.RecordBatchReader.from_stream(wearwell.Trace(msr).batches(1))
    assert batches.read_next_batch().num_rows == 1
    del batches


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_a_long_trace_is_converted_in_bounded_memory(tmp_path):
    """A million rows are 48 MB in memory; the process may grow by less than that."""
    long = tmp_path / "long.csv"
    with long.open("w") as file:
        file.write("time_us,op,offset,length\n")
        for first in range(0, 1_000_000, 10_000):
            file.write("".join(f"{at},W,{at % 5000 * 4096},4096\n" for at in range(first, first + 10_000)))
    script = """
        import resource, sys, wearwell
        path = sys.argv[1]
        wearwell.Trace([(0, "W", 0, 1)]).to_parquet(path + ".first")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        wearwell.Trace(path).to_parquet(path + ".parquet", rows=1 << 14)
        assert wearwell.Trace(path).stats() == wearwell.Trace(path + ".parquet").stats()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert wearwell.Trace(path + ".parquet").stats()[""].writes == 1_000_000
        assert "pyarrow" not in sys.modules
        print(after - before)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(long)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 40_000, f"grew by {done.stdout.strip()} KiB"
