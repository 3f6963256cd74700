"""Runs from Python beside runs of the command."""

import json
import subprocess
import time

import pytest

import wearwell

#: A device that is worn and cleaned in a few milliseconds.
SMALL = {"chip": "geometry:4096:32:256", "workload": "zipf:0.99", "write": "64MiB"}

#: Fields that tell of this machine, not of the device.
WALL = {"wall_seconds", "host_pages_per_wall_second", "pages_programmed_per_wall_second"}


def without_wall_times(report):
    return {name: value for name, value in report.items() if name not in WALL}


def of_command(command, name, *flags):
    done = subprocess.run([command, name, *flags, "--json", "-"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def as_flags(arguments):
    return [word for name, value in arguments.items() for word in (f"--{name.replace('_', '-')}", str(value))]


@pytest.mark.parametrize(
    "arguments",
    [
        {"workload": "zipf:0.99", "which": "cost-benefit", "write": "64MiB"},
        {**SMALL, "where": "separate-gc", "wear": "static-threshold:15", "seed": 7, "fill": "90%"},
        {**SMALL, "ftl": "log-block", "recycle": "merge-only", "log_blocks": 4, "unit": 8192},
        {**SMALL, "data": "stored", "host_us_per_page": 2.5, "when": "watermark:4:6"},
        {"workload": "postmark:small", "data": "stored", "aware": "strict", "hold": 1.0},
    ],
    ids=lambda arguments: arguments.get("ftl", arguments.get("data", arguments["workload"])),
)
def test_the_command_reports_the_same(command, arguments):
    result = wearwell.run(**arguments)
    assert without_wall_times(result.to_dict()) == without_wall_times(of_command(command, "run", *as_flags(arguments)))


def test_a_comparison_is_that_of_the_command(command):
    of_python = wearwell.compare(**SMALL).to_list()
    assert [report["name"] for report in of_python] == ["greedy", "cost-benefit", "cat"]
    of_the_command = of_command(command, "compare", *as_flags(SMALL))
    assert list(map(without_wall_times, of_python)) == list(map(without_wall_times, of_the_command))


def test_fields_are_attributes_and_items():
    result = wearwell.run(**SMALL)
    assert result.wa_data == result["wa_data"] == result.to_dict()["wa_data"] > 1
    assert result.erase_count.max >= result.erase_count.min
    assert result.config.which == "greedy" and result.config["where"] == "single"
    assert "host_pages" in dir(result) and "greedy" in repr(result)
    with pytest.raises(AttributeError, match="wa_data"):
        result.wa  # noqa: B018


def test_runs_are_compared_by_name():
    runs = {"hot": {"where": "separate-gc"}, "cold": {"where": "single", "seed": 3}}
    both = wearwell.compare(["cat"], runs=runs, **SMALL)
    assert [result.name for result in both] == ["cat", "hot", "cold"]
    assert both["hot"].config["where"] == "separate-gc" and both["cold"].config.seed == 3
    blocks = wearwell.compare(ftl="log-block", **SMALL)
    assert [result.name for result in blocks] == ["merge-only", "cost-based", "optimal"]
    with pytest.raises(wearwell.ArgumentError, match="runs="):
        wearwell.compare(ftl="in-place", **SMALL)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"wich": "cat"}, "did you mean 'which'"),
        ({"which": "gredy"}, "did you mean greedy"),
        ({"chip": "w25n01g"}, "w25n01gv"),
        ({"workload": "zip:1"}, "did you mean `zipf:THETA`"),
        ({"unit": 100}, "--unit"),
        ({"seed": True}, "not bool"),
        ({"device": "usr"}, "only a trace has devices"),
        ({"workload": None}, "a workload is missing"),
    ],
)
def test_wrong_arguments_suggest_right_ones(arguments, message):
    with pytest.raises(wearwell.ArgumentError, match=message):
        wearwell.run(**{**SMALL, **arguments})


def test_a_trace_that_cannot_be_read_is_named(tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("time_us,op,offset,length\n0,W,0,4096\n1,Q,0,1\n")
    with pytest.raises(wearwell.TraceError, match=r"bad\.csv: line 3: unknown operation `Q`"):
        wearwell.run(workload=f"trace:{bad}")
    assert issubclass(wearwell.TraceError, wearwell.Error)


def test_what_changes_nothing_is_a_warning():
    with pytest.warns(UserWarning, match="--which changes nothing"):
        wearwell.run(ftl="log-block", which="cat", **SMALL)


def test_progress_is_told_and_may_end_the_run():
    heard = []

    def listen(*what):
        heard.append(what)
        if len(heard) == 3:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        wearwell.run(workload="random", write="64TiB", progress=listen)
    run, phase, done, steps = heard[-1]
    assert run == 0 and phase in ("fill", "workload") and 0 <= done <= steps


def test_an_interrupt_ends_a_run(interrupted):
    script = """
        import sys, wearwell
        print("begun", flush=True)
        try:
            wearwell.run(workload="random", write="64TiB")
        except KeyboardInterrupt:
            sys.exit(9)
    """
    # An interrupt that comes before the run does is no different.
    assert interrupted(script, 0.2) == 9


def test_other_threads_go_on_meanwhile():
    import threading

    done = threading.Event()
    counted = []

    def count():
        while not done.is_set():
            counted.append(None)
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        wearwell.run(workload="random", write="2GiB")
    finally:
        before = len(counted)
        done.set()
        thread.join()
    assert before > 2


def test_listings():
    assert wearwell.chips()["w25n01gv"]["page_bytes"] == 2048
    assert "greedy" in wearwell.policies()["which"] and "sequential" in wearwell.policies()["workload"]
