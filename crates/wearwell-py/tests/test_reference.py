"""The book's page of reference is that of the docstrings."""

import subprocess
import sys

from conftest import ROOT


def test_the_reference_is_current():
    command = [sys.executable, ROOT / "crates/wearwell-py/reference.py"]
    page = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout
    book = (ROOT / "docs/src/simulate/python-reference.md").read_text(encoding="utf-8")
    assert page == book, "python crates/wearwell-py/reference.py > docs/src/simulate/python-reference.md"
