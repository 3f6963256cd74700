"""``wearwell sweep study.toml``, which calls ``wearwell-sweep study.toml``: a study on the command line.
``python -m wearwell sweep study.toml`` is the same."""

from __future__ import annotations

import argparse
import glob
import sys
from pathlib import Path
from typing import Any

from . import Error, sweep


def read_study(path: Path) -> dict[str, Any]:
    """The arguments of :func:`wearwell.sweep` in a TOML file: ``grid``, ``traces`` (patterns), ``out``, ``workers``.
    Paths are relative to the file's folder."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    study = tomllib.loads(path.read_text())
    unknown = set(study) - {"grid", "traces", "out", "workers"}
    if unknown or "grid" not in study:
        found = ", ".join(sorted(unknown)) or "no grid"
        raise Error(f"{path}: a study has a table grid, and maybe traces, out and workers; here is {found}")
    matches = [sorted(glob.glob(str(path.parent / pattern), recursive=True)) for pattern in study.get("traces", [])]
    for pattern, files in zip(study.get("traces", []), matches):
        if not files:
            raise Error(f"{path}: no file matches {pattern}")
    traces = [file for files in matches for file in files]
    return {**study, "traces": traces, "out": path.parent / study.get("out", f"{path.stem}-results")}


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m wearwell", description="Studies of flash translation layers")
    commands = parser.add_subparsers(dest="command", required=True)
    study = commands.add_parser("sweep", help="do every run of a study that has not been done")
    study.add_argument("file", type=Path, help="the study, as TOML")
    try:
        done = sweep(**read_study(parser.parse_args(words).file))
    except (Error, OSError, ValueError) as error:
        print(f"wearwell: {error}", file=sys.stderr)
        return 2
    print(
        f"{len(done.cells)} cells, {len(done.skipped)} of them done before, {len(done.failed)} failed: {done.results}"
    )
    for key, why in done.failed.items():
        print(f"wearwell: cell {key}: {why}", file=sys.stderr)
    return 1 if done.failed else 0


def sweep_command() -> int:
    """The program ``wearwell-sweep``."""
    return main(["sweep", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
