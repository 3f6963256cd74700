"""What the tests share."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

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


@pytest.fixture
def interrupted():
    """Runs a script by itself, and interrupts it some seconds after it has printed ``begun``. Gives its exit code."""

    def run(script, seconds):
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE)
        assert child.stdout.readline().strip() == b"begun"
        time.sleep(seconds)
        child.send_signal(signal.SIGINT)
        return child.wait(timeout=60)

    return run
