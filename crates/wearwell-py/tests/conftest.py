"""What the tests share."""

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def command():
    """The path of the ``wearwell`` command: from the environment, or what was built in this checkout."""
    built = [ROOT / "target" / profile / "wearwell" for profile in ("release", "debug")]
    found = [os.environ["WEARWELL"]] if "WEARWELL" in os.environ else [str(path) for path in built if path.exists()]
    if not found:
        pytest.skip("no wearwell command: build it by cargo build, or name it in WEARWELL")
    return found[0]
