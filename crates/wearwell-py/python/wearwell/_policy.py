"""Policies written in Python: what they may be, and what they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from . import _native

if TYPE_CHECKING:
    from numpy import ndarray


class DeviceShape(NamedTuple):
    """The device, as ``start`` gets it: ``logical_pages``, ``segments`` and ``pages_per_segment``, three numbers."""

    logical_pages: int
    segments: int
    pages_per_segment: int


class _Batch:
    """An array of 64-bit integers for each column, not to be changed."""

    __slots__ = ("_columns",)

    def __init__(self, columns: ndarray) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return self._columns.shape[1]


class HostBatch(_Batch):
    """The next pages that the host writes, in its order: for each column an array of shape ``(len(batch),)`` of
    ``int64`` that cannot be changed."""

    __slots__ = ()

    @property
    def page(self) -> ndarray:
        """Number of the page."""
        return self._columns[0]

    @property
    def stream(self) -> ndarray:
        """Stream ID of the request."""
        return self._columns[1]

    @property
    def clock(self) -> ndarray:
        """Host pages written before this one, those of the fill too."""
        return self._columns[2]

    @property
    def last_write(self) -> ndarray:
        """The clock of the page's last write, earlier rows of the batch included; -1 if it holds nothing."""
        return self._columns[3]

    @property
    def old_class(self) -> ndarray:
        """The class last given to the page, as it is when the batch is made: earlier rows of the batch, and cleaning
        meanwhile, are not in it. -1 if it holds nothing."""
        return self._columns[4]


class CopyBatch(_Batch):
    """The valid pages of a victim, when it is chosen: for each column an array of shape ``(len(batch),)`` of ``int64``
    that cannot be changed. Pages rewritten before they are moved are not moved.

    ``segment`` and ``from_class`` are number and class of the victim, ``clock`` is how many pages the host has written,
    and ``utilization`` and ``device_utilization`` are valid pages over pages, of the victim and of the device.
    """

    __slots__ = ("segment", "from_class", "clock", "utilization", "device_utilization")

    def __init__(self, columns: ndarray, victim: tuple[int, int, int, float, float]) -> None:
        super().__init__(columns)
        self.segment, self.from_class, self.clock, self.utilization, self.device_utilization = victim

    @property
    def page(self) -> ndarray:
        """Number of the page."""
        return self._columns[0]

    @property
    def last_write(self) -> ndarray:
        """The clock of the page's last write; -1 if it was there before the run."""
        return self._columns[1]


class SegmentBatch(_Batch):
    """The segments that may be the victim, closed, neither full nor empty, in no order: for each column an array of
    shape ``(len(batch),)`` of ``int64`` that cannot be changed. ``clock`` is now. Stamps count host pages, as ``clock``
    does (with ``when="falling:…"``, microseconds)."""

    __slots__ = ("clock",)

    def __init__(self, columns: ndarray, clock: int) -> None:
        super().__init__(columns)
        self.clock = clock

    @property
    def segment(self) -> ndarray:
        """Number of the segment."""
        return self._columns[0]

    @property
    def valid_pages(self) -> ndarray:
        """Pages that the map points to."""
        return self._columns[1]

    @property
    def pages(self) -> ndarray:
        """Pages that it has room for."""
        return self._columns[2]

    @property
    def erases(self) -> ndarray:
        """Times erased."""
        return self._columns[3]

    @property
    def segment_class(self) -> ndarray:
        """Class of the segment."""
        return self._columns[4]

    @property
    def opened(self) -> ndarray:
        """When it was opened."""
        return self._columns[5]

    @property
    def closed(self) -> ndarray:
        """When it was closed."""
        return self._columns[6]

    @property
    def invalidated(self) -> ndarray:
        """When a page of it last became invalid."""
        return self._columns[7]

    @property
    def newest(self) -> ndarray:
        """When its newest data was written."""
        return self._columns[8]


class PlacementPolicy(Protocol):
    """What ``where`` may be. It sorts pages into classes 0 to ``classes - 1`` (1 to 15 classes), each of which has an
    open segment of its own. These may be there too: ``batch_pages``, how many host pages it wants to be asked for at a
    time (4096), and ``start(device)``, which is called once with a :class:`DeviceShape`."""

    classes: int

    def host(self, batch: HostBatch) -> Any:
        """The class of each page that the host writes: an array of shape ``(len(batch),)`` of whole numbers."""

    def copied(self, batch: CopyBatch) -> Any:
        """The class of each page of a victim: an array of shape ``(len(batch),)`` of whole numbers."""


class VictimScore(Protocol):
    """What ``which`` may be. ``victims_per_call`` may be there too: how many victims are taken by the scores of one
    call (1)."""

    def score(self, batch: SegmentBatch) -> Any:
        """A score for each segment: an array of shape ``(len(batch),)`` of numbers. The greatest is cleaned first; of
        equal ones the least worn, then the lowest number."""


def taken_out(arguments: dict[str, Any]) -> tuple[dict[str, Any], tuple[Any, Any]]:
    """Arguments without the policies in Python, and those, as the engine asks them."""
    policies: dict[str, Any] = {"where": None, "which": None}
    for name, methods in (("where", ("host", "copied")), ("which", ("score",))):
        value = arguments.get(name)
        if not any(hasattr(value, method) for method in methods):
            continue
        if isinstance(value, type):
            raise _native.PolicyError(f"{name}={value.__name__}: an object is wanted, as in {value.__name__}()")
        # Only policies need NumPy.
        from . import _asked

        policies[name] = _asked.Placement(value) if name == "where" else _asked.Victims(value)
        arguments = {**arguments, name: None}
    return arguments, (policies["where"], policies["which"])
