"""Rows a second of a trace that is read into a table, beside pandas and polars on the same files.

``python crates/wearwell-py/benches/reading.py --rows 2000000``
"""

import argparse
import os
import pathlib
import tempfile
import time

import numpy
import pandas
import polars
import pyarrow

import wearwell

REPEATS = 3


def make_files(folder, rows):
    """A trace in wearwell's CSV, the same compressed by Zstandard, and the same as Parquet."""
    drawn = numpy.random.default_rng(1)
    columns = {
        "time_us": numpy.arange(rows) * 137,
        "op": numpy.where(drawn.random(rows) < 0.7, "W", "R"),
        "offset": drawn.zipf(1.2, rows) % (1 << 23) * 4096,
        "length": drawn.integers(1, 17, rows) * 4096,
    }
    csv, compressed, parquet = (folder / name for name in ("trace.csv", "trace.csv.zst", "trace.parquet"))
    polars.DataFrame(columns).write_csv(csv)
    with pyarrow.output_stream(str(compressed), compression="zstd") as out:
        out.write(csv.read_bytes())
    wearwell.Trace(csv).to_parquet(parquet)
    return {"CSV": csv, "CSV, Zstandard": compressed, "Parquet": parquet}


def readers(path):
    is_parquet = path.suffix == ".parquet"
    return {
        "wearwell": lambda: pyarrow.table(wearwell.Trace(path)),
        "pandas": lambda: pandas.read_parquet(path) if is_parquet else pandas.read_csv(path),
        "polars": lambda: polars.read_parquet(path) if is_parquet else polars.read_csv(path),
    }


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--rows", type=int, default=2_000_000)
    rows = words.parse_args().rows
    print(f"{os.cpu_count()} processors, {rows:,} rows; millions of rows a second of processor time, and by the clock")
    with tempfile.TemporaryDirectory() as folder:
        for kind, path in make_files(pathlib.Path(folder), rows).items():
            print(f"{kind}: {path.stat().st_size / rows:.1f} bytes a row")
            for name, read in readers(path).items():
                used, taken = [], []
                for _ in range(REPEATS):
                    began = time.process_time(), time.monotonic()
                    assert len(read()) == rows
                    used.append(time.process_time() - began[0])
                    taken.append(time.monotonic() - began[1])
                print(f"    {name:<10} {rows / min(used) / 1e6:6.2f} {rows / min(taken) / 1e6:6.2f}")


if __name__ == "__main__":
    main()
