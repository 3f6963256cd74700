"""A disk in memory, stepped by hand."""

import random

import polars
import pytest

import wearwell

PAGE = 2048


def device(**more):
    return wearwell.Device(chip="geometry:2048:16:256", logical="4MiB", **more)


def test_what_is_written_reads_back_and_what_is_discarded_is_zeros():
    disk = device()
    assert disk.capacity == 4 << 20 and disk.read(0, 512) == bytes(512)
    disk.write(PAGE, b"a" * PAGE, stream=3)
    disk.write(512, b"b" * 512)
    assert disk.read(PAGE, PAGE) == b"a" * PAGE and disk.read(512, 512) == b"b" * 512
    disk.discard(PAGE, PAGE)
    disk.flush()
    assert disk.read(PAGE, PAGE) == bytes(PAGE)
    assert disk.stats.discarded_pages == 1 and disk.stats.flushes == 1


@pytest.mark.parametrize("seed", range(20))
def test_what_was_flushed_survives_power_cuts(seed):
    disk, drawn = device(which="cost-benefit", seed=seed), random.Random(seed)
    kept = {}
    for _ in range(400):
        page, value = drawn.randrange(200), drawn.randrange(256)
        disk.write(page * PAGE, bytes([value]) * PAGE)
        kept[page] = value
    disk.flush()
    disk.cut_power(after_ops=drawn.randrange(50), seed=seed)
    with pytest.raises(wearwell.PowerOff):
        for at in range(500):
            disk.write((300 + at) * PAGE, b"x" * PAGE)
    assert disk.is_off
    with pytest.raises(wearwell.PowerOff, match="mount"):
        disk.read(0, 512)
    assert not disk.mount().clean
    for page, value in kept.items():
        assert disk.read(page * PAGE, PAGE) == bytes([value]) * PAGE, f"seed {seed}, page {page}"
    disk.shutdown()
    assert disk.mount().clean


def test_segments_tell_what_cleaning_does():
    disk, drawn = device(), random.Random(1)
    for _ in range(10_000):
        disk.write(drawn.randrange(disk.capacity // PAGE) * PAGE, bytes(PAGE))
    segments = polars.DataFrame(disk.segments)
    assert segments.height == disk.stats.segments == 256
    assert segments["valid_pages"].sum() == disk.stats.live_pages
    # One is held back for what a power cut may need, and two for operations that fail.
    assert segments.filter(polars.col("state") == "free").height - disk.stats.free_segments in (2, 3)
    assert disk.stats.wa_data > 1 and disk.stats.copied_pages > 0
    while disk.clean(64):
        pass


def test_what_makes_no_sense_is_refused():
    disk = device()
    with pytest.raises(wearwell.DeviceError, match="not whole sectors"):
        disk.write(1, bytes(512))
    with pytest.raises(wearwell.DeviceError, match="beyond"):
        disk.read(disk.capacity, 512)
    with pytest.raises(wearwell.ArgumentError, match="did you mean 'which'"):
        wearwell.Device(wich="cat")
