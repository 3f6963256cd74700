"""How a run went, as Arrow tables."""

import html
import re
import subprocess

import polars
import pyarrow
import pytest

import wearwell


@pytest.fixture(scope="module")
def result():
    return wearwell.run(chip="w25n01gv", workload="zipf:0.99", write="64MiB")


def test_series_add_up_to_the_report(result):
    series = pyarrow.table(result.series).to_pydict()
    assert series["host_bytes"][0] == 0 and series["host_bytes"][-1] == result.host_bytes
    assert series["programmed_pages"][-1] == result.programmed_pages and series["erases"][-1] == result.erases
    assert series["wa"][0] is None and all(wa >= 1 for wa in series["wa"][1:])
    assert all(rate > 0 for rate in series["throughput_kib_s"][1:])
    assert 0 < min(series["free_segments"]) <= max(series["free_segments"]) <= result["segments"]


def test_segments_add_up_to_the_report(result):
    segments = polars.DataFrame(result.segments)
    assert segments.height == result["segments"] and segments["valid_pages"].sum() == result.live_pages
    assert segments["erases"].max() == result.erase_count.max
    assert set(segments["state"]) <= {"free", "open", "closed", "victim", "erasing", "bad"}


def test_latency_has_the_reports_quantiles(result):
    latency = dict(polars.DataFrame(result.latency).iter_rows())
    assert latency[0.5] == result.latency_us.p50 and latency[1.0] == result.latency_us.max


def test_a_device_without_times_has_no_latency():
    result = wearwell.run(chip="geometry:4096:32:64", workload="random", write="16MiB")
    assert result.latency_us is None and len(result.latency) == 0
    assert pyarrow.table(result.series)["throughput_kib_s"].null_count == len(result.series)


def addresses(column):
    return [buffer.address for chunk in column.chunks for buffer in chunk.buffers() if buffer is not None]


def test_columns_are_taken_without_a_copy(result):
    table = result.series
    first, second = pyarrow.table(table), pyarrow.table(table)
    frame = polars.DataFrame(table)
    for name in ("host_bytes", "erases", "free_segments"):
        where = addresses(first[name])
        assert where == addresses(second[name]), "pyarrow reads what the extension holds"
        of_polars = [buffer.address for buffer in frame[name].to_arrow().buffers() if buffer is not None]
        assert where == of_polars, "and so does polars"


def charts_of(page):
    charts = re.findall("<svg.*?</svg>", page, re.DOTALL)
    assert len(charts) >= 6
    return charts


def test_results_show_the_charts_of_the_command(result, command, tmp_path):
    shown = result._repr_html_()
    assert "<th>write amplification</th>" in shown
    arguments = {"chip": "w25n01gv", "workload": "zipf:0.99", "write": "64MiB"}
    flags = [word for name, value in arguments.items() for word in (f"--{name}", value)]
    subprocess.run([command, "run", *flags, "--html", tmp_path / "run.html"], check=True, capture_output=True)
    assert charts_of(html.unescape(shown)) == charts_of((tmp_path / "run.html").read_text())
    both = wearwell.compare(["greedy", "cat"], **arguments)
    subprocess.run(
        [command, "compare", *flags, "--policies", "greedy,cat", "--html", tmp_path / "compare.html"],
        check=True,
        capture_output=True,
    )
    assert charts_of(html.unescape(both._repr_html_())) == charts_of((tmp_path / "compare.html").read_text())
    assert both._repr_html_().count("<tr>") == 3 and "greedy" in repr(both)


def test_plots(result):
    import matplotlib

    matplotlib.use("Agg")
    figure = result.plot()
    assert [axis.get_ylabel() for axis in figure.axes] == ["write amplification", "KiB/s", "free segments"]
    assert all(len(line.get_xdata()) == len(result.series) for axis in figure.axes for line in axis.lines)
