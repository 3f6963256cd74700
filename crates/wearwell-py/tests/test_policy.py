"""Policies in Python, beside those of the engine."""

import numpy
import pytest

import wearwell

SMALL = {"chip": "geometry:4096:64:256", "workload": "zipf:0.99", "write": "64MiB", "seed": 3}


class SeparateGc:
    classes = 2

    def host(self, batch):
        return numpy.zeros(len(batch), "uint8")

    def copied(self, batch):
        return numpy.ones(len(batch), "int32")


class Greedy:
    def score(self, batch):
        return batch.pages - batch.valid_pages


class CostBenefit:
    def score(self, batch):
        utilization = batch.valid_pages / batch.pages
        return (batch.clock - batch.invalidated) * (1 - utilization) / (2 * utilization)


class HotByInterval:
    """Pages that were rewritten soon are hot; copies are sorted by their age."""

    classes = 4

    def __init__(self, batch_pages=4096):
        self.batch_pages = batch_pages
        self.seen = 0

    def start(self, device):
        self.soon = device.logical_pages // 4

    def host(self, batch):
        assert not batch.page.flags.writeable
        assert (batch.clock == numpy.arange(self.seen, self.seen + len(batch))).all()
        self.seen += len(batch)
        is_hot = (batch.last_write >= 0) & (batch.clock - batch.last_write < self.soon)
        return numpy.where(is_hot, 0, 1)

    def copied(self, batch):
        assert (batch.last_write < batch.clock).all() and 0 < batch.utilization < 1
        return numpy.where(batch.clock - batch.last_write < self.soon, 2, 3)


def same(a, b):
    assert (a.map_digest, a.copied_pages, a.erases) == (b.map_digest, b.copied_pages, b.erases)


@pytest.mark.parametrize("workload", ["zipf:0.99", "random"])
def test_the_same_policy_does_the_same_in_python_and_in_the_engine(workload):
    arguments = {**SMALL, "workload": workload}
    in_python = wearwell.run(where=SeparateGc(), which=Greedy(), **arguments)
    same(in_python, wearwell.run(where="separate-gc", which="greedy", **arguments))
    assert in_python.config["where"] == "SeparateGc" and in_python.config.which == "Greedy"
    same(wearwell.run(which=CostBenefit(), **arguments), wearwell.run(which="cost-benefit", **arguments))


def test_how_many_pages_a_batch_has_changes_nothing():
    one = wearwell.run(where=HotByInterval(batch_pages=1), **SMALL)
    many = wearwell.run(where=HotByInterval(), **SMALL)
    same(one, many)
    assert many.wa_data < wearwell.run(**SMALL).wa_data


def test_a_trace_is_placed_too():
    rows = [(at, "W", at * at * 7919 % 3000 * 4096, 8192, at % 2) for at in range(4000)]
    rows += [(5000 + at, "D" if at % 9 == 0 else "W", at * 31 % 3000 * 4096, 4096) for at in range(4000)]

    class ByStream:
        classes = 3

        def host(self, batch):
            return batch.stream

        def copied(self, batch):
            return numpy.full(len(batch), 2)

    trace = wearwell.Trace(rows)
    arguments = {"chip": "geometry:4096:64:64", "workload": trace}
    assert wearwell.run(where=ByStream(), **arguments).copied_pages > 0
    same(*(wearwell.run(where=HotByInterval(batch_pages=pages), **arguments) for pages in (1, 500)))


def test_policies_are_compared():
    both = wearwell.compare(["greedy"], runs={"mine": {"where": SeparateGc(), "which": Greedy()}}, **SMALL)
    assert both["mine"].wa_data < both["greedy"].wa_data
    shared = Greedy()
    with pytest.raises(wearwell.PolicyError, match="an object of its own"):
        wearwell.compare(runs={"a": {"which": shared}, "b": {"which": shared}}, **SMALL)


def placement(host=lambda batch: [0] * len(batch), copied=lambda batch: [0] * len(batch), classes=2):
    return type("Policy", (), {"classes": classes, "host": lambda _, b: host(b), "copied": lambda _, b: copied(b)})()


def scores(score):
    return type("Scores", (), {"score": lambda _, batch: score(batch)})()


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ({"where": SeparateGc}, r"where=SeparateGc: an object is wanted, as in SeparateGc\(\)"),
        ({"where": placement(classes=0)}, "Policy.classes is 0; a number of 1 or more"),
        ({"where": placement(classes=99)}, "1 to 15 classes, not 99"),
        ({"where": placement(host=lambda b: [0])}, r"host\(\) returned shape \(1,\); \(4096,\) is wanted"),
        ({"where": placement(host=lambda b: [0.5] * len(b))}, r"host\(\) returned float64; a class for each row"),
        ({"where": placement(host=lambda b: b.page % 3)}, r"host\(\) puts row 2 into class 2; .* classes 0 to 1"),
        ({"where": placement(copied=lambda b: b.page * 0 - 1)}, r"copied\(\) puts row 0 into class -1"),
        ({"where": type("Half", (), {"classes": 1, "host": 1})()}, r"Half has no method host\(\)"),
        ({"which": scores(lambda b: numpy.nan * b.pages)}, r"score\(\) returned NaN for row 0"),
        ({"which": scores(lambda b: ["a"] * len(b))}, r"score\(\) returned <U1"),
    ],
)
def test_wrong_answers_are_refused(policies, message):
    with pytest.raises(wearwell.PolicyError, match=message):
        wearwell.run(**policies, **SMALL)
    assert issubclass(wearwell.PolicyError, wearwell.Error)


@pytest.mark.parametrize("method", ["start", "host", "copied", "score"])
def test_what_a_policy_raises_ends_the_run(method):
    asked = []

    class Broken(SeparateGc, Greedy):
        def start(self, device):
            self.raises("start")

        def host(self, batch):
            self.raises("host")
            return super().host(batch)

        def copied(self, batch):
            self.raises("copied")
            return super().copied(batch)

        def score(self, batch):
            self.raises("score")
            return super().score(batch)

        def raises(self, here):
            if here == method:
                asked.append(here)
                raise ZeroDivisionError(f"in {here}")

    with pytest.raises(ZeroDivisionError, match=f"in {method}"):
        wearwell.run(where=Broken(), which=Broken(), **{**SMALL, "write": "64TiB"})
    assert asked == [method], "it is not asked again"


def test_engines_without_policies_take_none():
    with pytest.raises(wearwell.ArgumentError, match="only page mapping"):
        wearwell.run(where=SeparateGc(), ftl="log-block", **SMALL)


def test_an_interrupt_ends_a_run_by_a_policy(interrupted):
    script = """
        import sys, numpy, wearwell
        class One:
            classes = 1
            def host(self, batch): return numpy.zeros(len(batch), "uint8")
            copied = host
        print("begun", flush=True)
        try:
            wearwell.run(workload="random", write="64TiB", where=One())
        except KeyboardInterrupt:
            sys.exit(9)
    """
    assert interrupted(script, 0.5) == 9
