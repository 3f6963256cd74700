"""What there is to choose from."""

from __future__ import annotations

import json
from typing import Any

from . import _native


def chips() -> dict[str, dict[str, Any]]:
    """The profiles of all chips by name: page and block sizes in bytes, times in microseconds, rated erases."""
    return {chip["name"]: chip for chip in json.loads(_native.chips())}


def policies() -> dict[str, dict[str, str]]:
    """For each argument that chooses by name: the names it takes, and a line about each."""
    found: dict[str, dict[str, str]] = {}
    for choice in json.loads(_native.policies()):
        argument = choice["flag"].lstrip("-").replace("-", "_")
        found.setdefault(argument, {})[choice["name"]] = choice["description"]
    return found
