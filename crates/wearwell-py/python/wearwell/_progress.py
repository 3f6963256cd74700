"""Bars for runs that take a while."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Optional, Union

#: ``True``: bars if tqdm is installed; ``False``: none; or a function of (run, phase, done, steps).
Progress = Union[bool, Callable[[int, str, int, int], object]]

#: Seconds before a bar is shown.
PATIENCE_S = 1.0


class Bars:
    """A bar for each run, shown once the runs have taken a second."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._bars: dict[int, Any] = {}
        self._began = time.monotonic()

    def __call__(self, run: int, phase: str, done: int, steps: int) -> None:
        if not steps or time.monotonic() - self._began < PATIENCE_S:
            return
        bar = self._bars.get(run)
        if bar is None:
            from tqdm.auto import tqdm

            bar = self._bars[run] = tqdm(total=steps, leave=False, unit_scale=True)
        bar.set_description(f"{self._names[run]} {phase}".strip(), refresh=False)
        bar.total = steps
        bar.n = done
        bar.refresh()

    def close(self) -> None:
        for bar in self._bars.values():
            bar.close()


def _can_show() -> bool:
    """True where somebody looks: in a notebook, or on a terminal; and where tqdm is installed."""
    try:
        import tqdm  # noqa: F401
    except ImportError:
        return False
    return "ipykernel" in sys.modules or sys.stderr.isatty()


def reporter(progress: Progress, names: list[str]) -> tuple[Optional[Callable[..., object]], Callable[[], None]]:
    """What to call with progress, and what to call at the end."""
    if callable(progress):
        return progress, lambda: None
    if progress and _can_show():
        bars = Bars(names)
        return bars, bars.close
    return None, lambda: None
