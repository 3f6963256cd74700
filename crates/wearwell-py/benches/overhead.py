"""What a run costs from Python beside the command: processor time of the same run, in turns.

``python crates/wearwell-py/benches/overhead.py target/release/wearwell``
"""

import json
import resource
import statistics
import subprocess
import sys
import time

import wearwell

ARGUMENTS = {"chip": "geometry:4096:256:4096", "workload": "zipf:0.99", "which": "cost-benefit", "write": "160GiB"}

TURNS = 3


def by_command(command):
    """Seconds of the processor, and the report."""
    words = [word for name, value in ARGUMENTS.items() for word in (f"--{name}", value)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = subprocess.run([command, "run", *words, "--json", "-"], check=True, capture_output=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(report)


def by_python():
    began = time.process_time()
    report = wearwell.run(**ARGUMENTS, progress=False).to_dict()
    return time.process_time() - began, report


def main():
    seconds = {"command": [], "Python": []}
    for turn in range(TURNS):
        of_command, report = by_command(sys.argv[1])
        of_python, same = by_python()
        assert report["map_digest"] == same["map_digest"]
        seconds["command"].append(of_command)
        seconds["Python"].append(of_python)
        print(f"turn {turn + 1}: command {of_command:.2f} s, Python {of_python:.2f} s")
    for name, taken in seconds.items():
        print(f"{name}: median {statistics.median(taken):.2f} s, least {min(taken):.2f} s")
    print(f"overhead, of the least: {min(seconds['Python']) / min(seconds['command']) - 1:+.1%}")


if __name__ == "__main__":
    main()
