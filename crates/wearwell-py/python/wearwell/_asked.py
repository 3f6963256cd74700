"""Policies in Python as the engine asks them: its bytes become NumPy arrays, and their answers bytes."""

from __future__ import annotations

from typing import Any

import numpy

from . import _native
from ._policy import CopyBatch, DeviceShape, HostBatch, SegmentBatch

#: Host pages that a placement is asked for at a time, unless it has an attribute ``batch_pages``.
BATCH_PAGES = 4096

CLASS, SCORE = numpy.dtype("int64"), numpy.dtype("float64")


def _columns(data: bytes, rows: int) -> numpy.ndarray:
    return numpy.frombuffer(data, numpy.int64).reshape(-1, rows)


def _answer(answer: Any, rows: int, dtype: numpy.dtype[Any], kinds: str, wanted: str, method: str) -> bytes:
    """An array that a policy has returned, checked, in the engine's form."""
    array = numpy.asarray(answer)
    if array.shape != (rows,):
        raise _native.PolicyError(f"{method}() returned shape {array.shape}; ({rows},) is wanted, {wanted}")
    if array.dtype.kind not in kinds:
        raise _native.PolicyError(f"{method}() returned {array.dtype}; {wanted} is wanted")
    return array.astype(dtype, copy=False).tobytes()


def _whole(policy: Any, name: str, default: Any = None) -> int:
    """A number of 1 or more that a policy has as an attribute."""
    value = getattr(policy, name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _native.PolicyError(f"{type(policy).__name__}.{name} is {value!r}; a number of 1 or more is wanted")
    return value


def _check_methods(policy: Any, *names: str) -> None:
    for name in names:
        if not callable(getattr(policy, name, None)):
            raise _native.PolicyError(f"{type(policy).__name__} has no method {name}()")


class Placement:
    """A policy with ``host`` and ``copied``, as the engine asks it."""

    def __init__(self, policy: Any) -> None:
        _check_methods(policy, "host", "copied")
        self.policy = policy
        self.name = type(policy).__name__
        self.classes = _whole(policy, "classes")
        self.batch_pages = _whole(policy, "batch_pages", BATCH_PAGES)

    def start(self, *shape: int) -> None:
        if hasattr(self.policy, "start"):
            self.policy.start(DeviceShape(*shape))

    def host(self, data: bytes, rows: int) -> bytes:
        answer = self.policy.host(HostBatch(_columns(data, rows)))
        return _answer(answer, rows, CLASS, "iub", "a class for each row", "host")

    def copied(self, data: bytes, rows: int, victim: tuple[int, int, int, float, float]) -> bytes:
        answer = self.policy.copied(CopyBatch(_columns(data, rows), victim))
        return _answer(answer, rows, CLASS, "iub", "a class for each row", "copied")


class Victims:
    """A policy with ``score``, as the engine asks it."""

    def __init__(self, policy: Any) -> None:
        _check_methods(policy, "score")
        self.policy = policy
        self.name = type(policy).__name__
        self.victims_per_call = _whole(policy, "victims_per_call", 1)

    def score(self, data: bytes, rows: int, clock: int) -> bytes:
        answer = self.policy.score(SegmentBatch(_columns(data, rows), clock))
        return _answer(answer, rows, SCORE, "iubf", "a score for each row", "score")
