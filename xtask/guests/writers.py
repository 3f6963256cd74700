#!/usr/bin/env python3
"""The four writers of streams.c in the simulator, for longer than an emulated machine has patience: write amplification
with their streams and without, on flash with paired pages and without, as a table in Markdown and a picture.

usage: wearwell=PROGRAM writers.py PICTURE.svg"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

PAGE = 16384
BLOCKS = 256
WRITERS = 4
WRITES_PER_PAGE = 20
SEEDS = (1, 2, 3)
POLICIES = ("single", "separate-gc", "sepbit", "by-handle-shared", "by-handle", "by-handle-apart:4")
CASES = [(order, spare) for order in ("in-turn", "random") for spare in (15, 7)]
# Paired pages of the chip, and the pages of its blocks of 48 that hold data.
CHIPS = {"paired pages": (3, 44), "no paired pages": (1, 46)}
COLOURS = ("#888", "#b8a", "#c84", "#48c", "#2a6", "#295")
WORD = (1 << 64) - 1


def trace(path, order, pages, seed):
    """Writes the requests of streams.c, which draws with the seed 1, as a trace."""
    state = seed

    def drawn():
        nonlocal state
        state ^= state << 13 & WORD
        state ^= state >> 7
        state ^= state << 17 & WORD
        return state >> 8

    part, turns, weights = pages // WRITERS, [0] * WRITERS, ((1 << 2 * WRITERS) - 1) // 3
    with open(path, "w") as out:
        out.write("time_us,op,offset,length,stream\n")
        for writer in range(WRITERS):
            for done in range(0, part, 16):
                out.write(f"0,W,{(writer * part + done) * PAGE},{min(16, part - done) * PAGE},{writer}\n")
        for _ in range(WRITES_PER_PAGE * pages):
            writer, left, weight = WRITERS - 1, drawn() % weights, 1
            while left >= weight:
                left, writer, weight = left - weight, writer - 1, weight * 4
            block = drawn() % part if order == "random" else turns[writer] % part
            turns[writer] += 1
            out.write(f"0,W,{(writer * part + block) * PAGE},{PAGE},{writer}\n")


def simulate(chip, pages, where, path):
    arguments = ["run", "--data", "none", "--layout", "nand", "--chip", chip, "--logical", f"{pages * PAGE}"]
    arguments += ["--where", where, "--workload", f"trace:{path}", "--json", "-"]
    report = subprocess.run([os.environ["wearwell"], *arguments], check=True, capture_output=True, text=True).stdout
    report = json.loads(report)
    return report["wa_bytes"], report["meta_programs"] / report["erases"]


def measure(work):
    """For chip, order, spare and policy: write amplification and pages of the engine's own for each erase, by seed."""
    profile = (pathlib.Path(__file__).parent / "tlc-192mib.toml").read_text()
    found = {}
    for name, (paired, slots) in CHIPS.items():
        chip = f"{work}/chip-{paired}.toml"
        pathlib.Path(chip).write_text(profile.replace("paired_pages = 3", f"paired_pages = {paired}"))
        for order, spare in CASES:
            pages = BLOCKS * slots * (100 - spare) // 100
            for seed in SEEDS:
                trace(f"{work}/trace.csv", order, pages, seed)
                for where in POLICIES:
                    measured = simulate(chip, pages, where, f"{work}/trace.csv")
                    found.setdefault((name, order, spare, where), []).append(measured)
    return found


def table(found):
    print("| flash | `--where` | " + " | ".join(f"{order}, {spare} %" for order, spare in CASES) + " | own pages an erase |")
    print("| --- | --- |" + " ---: |" * (len(CASES) + 1))
    for chip in CHIPS:
        for where in POLICIES:
            cells, own = [], []
            for order, spare in CASES:
                runs = found[chip, order, spare, where]
                factors = [factor for factor, _ in runs]
                own += [pages for _, pages in runs]
                cells.append(f"{statistics.mean(factors):.2f} ± {(max(factors) - min(factors)) / 2:.2f}")
            print(f"| {chip} | `{where}` | {' | '.join(cells)} | {statistics.mean(own):.1f} |")


def picture(found):
    width, height, bar = 760, 520, 24
    most = max(factor for runs in found.values() for factor, _ in runs)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">']
    out.append(f'<rect width="{width}" height="{height}" fill="#fff"/>')
    for row, chip in enumerate(CHIPS):
        foot = 215 + 245 * row
        out.append(f'<text x="20" y="{foot - 190}" font-weight="bold">write amplification, {chip}</text>')
        for group, (order, spare) in enumerate(CASES):
            left = 40 + 180 * group
            out.append(f'<text x="{left}" y="{foot + 18}">{order}, {spare} % spare</text>')
            for at, where in enumerate(POLICIES):
                factor = statistics.mean(factor for factor, _ in found[chip, order, spare, where])
                tall, x = 155 * factor / most, left + at * (bar + 4)
                out.append(f'<rect x="{x}" y="{foot - tall:.0f}" width="{bar}" height="{tall:.0f}" fill="{COLOURS[at]}"/>')
                out.append(f'<text x="{x + bar / 2}" y="{foot - tall - 4:.0f}" text-anchor="middle" font-size="10">{factor:.1f}</text>')
    for at, where in enumerate(POLICIES):
        out.append(f'<rect x="{20 + 124 * at}" y="496" width="12" height="12" fill="{COLOURS[at]}"/>')
        out.append(f'<text x="{37 + 124 * at}" y="507">{where}</text>')
    return "\n".join(out + ["</svg>", ""])


if len(sys.argv) != 2:
    sys.exit(__doc__)
with tempfile.TemporaryDirectory() as folder:
    measured = measure(folder)
table(measured)
pathlib.Path(sys.argv[1]).write_text(picture(measured))
