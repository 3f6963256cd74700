"""The same study by ``wearwell sweep`` and by the shell loop around the simulator that SepBIT was published with: total
time, write amplification, and lines that a user writes.

The simulator (github.com/fallfish/sepbit, ``trace_replay``) is built with its own ``mvn package``, or by ``javac`` with
trove4j, commons-lang3 and commons-math3. ``CLASSES`` is the Java class path of all of them::

    python crates/wearwell-py/benches/beside_sepbit.py CLASSES --volumes 6
"""

import argparse
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

import polars

#: Pages of a volume, and writes to it after each page was written once.
PAGES, WRITES = 16384, 65536

LOOP = """\
for volume in volumes/*.csv; do
  id=$(basename $volume .csv)
  echo $PWD/$volume > list
  echo "$id 16384 67108864" > property
  for selection in Greedy CostBenefit; do
    for placement in SepGC SepBIT; do
      rm -rf state && mkdir -p state/segments state/indexmap state/ondiskfifo
      java -cp $CLASSES gcsimulator.Simulator --path list --propertyPath property --outputPrefix state/ \\
        --selectionAlgorithm $selection --setSeparateMethod $placement --setNumOpenSegments 6 \\
        --setSegmentSize 262144 --setSystemGarbageProportionThreshold 0.15 > log
      echo "$id,$selection,$placement,$(grep 'segment WA' log | tail -1 | sed 's/.*= *//')" >> results.csv
    done
  done
done
"""

#: With as many segments, and seven more for what that simulator does not count (the book's page on placements).
STUDY = """\
traces = ["volumes/*.csv"]
workers = 1
[grid]
chip = "geometry:4096:64:309"
logical = "64MiB"
fill = "0%"
which = ["greedy", "cost-benefit:opened"]
where = ["separate-gc", "sepbit"]
"""


def make_volume(path, seed):
    """In the form of the Alibaba block traces."""
    drawn = random.Random(seed)
    skew = drawn.uniform(2, 12)
    pages = [*range(PAGES), *(int(drawn.betavariate(1, skew) * PAGES) for _ in range(WRITES))]
    rows = [f"{seed},W,{page * 4096},4096,{at}\n" for at, page in enumerate(pages, 1)]
    path.write_text("".join(rows))


def timed(label, lines, *command, **options):
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{label}: {used:.1f} s of processors, {seconds:.1f} s by the clock, {len(lines.splitlines())} lines")


def main():
    words = argparse.ArgumentParser()
    words.add_argument("classes")
    words.add_argument("--volumes", type=int, default=6)
    said = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "volumes").mkdir()
        for seed in range(said.volumes):
            make_volume(root / "volumes" / f"{seed}.csv", seed)
        (root / "study.toml").write_text(STUDY)
        environment = {**os.environ, "CLASSES": said.classes}
        timed("the loop around SepBIT's simulator", LOOP, "bash", "-euc", LOOP, cwd=root, env=environment)
        timed("wearwell sweep", STUDY, sys.executable, "-m", "wearwell", "sweep", "study.toml", cwd=root)
        names = ["volume", "selection", "placement", "wa"]
        theirs = polars.read_csv(root / "results.csv", has_header=False, new_columns=names)
        print(theirs.group_by("selection", "placement").agg(polars.col("wa").mean()).sort("selection", "placement"))
        ours = polars.read_parquet(root / "study-results" / "results" / "*.parquet")
        by = ("arguments.which", "arguments.where")
        print(ours.group_by(*by).agg(polars.col("wa_data").mean(), polars.col("error").count()).sort(*by))


if __name__ == "__main__":
    main()
