"""A disk in memory, to step by hand."""

from __future__ import annotations

import json
from typing import Any, Optional

from . import _native
from ._run import Fields, Value, texts_of


class Device:
    r"""A disk on an emulated chip that keeps its bytes, to write, to cut the power of, and to look into.

    >>> disk = wearwell.Device(chip="geometry:2048:16:256", logical="4MiB", which="cost-benefit")
    >>> disk.write(0, b"hello".ljust(2048, b"\0"))
    >>> disk.flush()
    >>> disk.cut_power()
    >>> disk.mount().clean
    False
    >>> disk.read(0, 512)[:5]
    b'hello'

    The arguments are those of :func:`wearwell.run` that describe a chip and an engine. Offsets and lengths are bytes:
    whole sectors of 512.

    :raises ArgumentError: for what is not understood or makes no sense.
    :raises DeviceError: for a range that is not whole sectors or beyond :attr:`capacity`, and for a command that
        fails. Every method may raise it.
    :raises PowerOff: for a command to a device without power. Every method but :meth:`cut_power` and :meth:`mount` may
        raise it.
    """

    def __init__(self, **arguments: Optional[Value]) -> None:
        self._device = _native.Device(texts_of(arguments))

    @property
    def capacity(self) -> int:
        """Bytes that the host can address."""
        return self._device.capacity()

    @property
    def is_off(self) -> bool:
        """True once a power cut has come, until :meth:`mount`."""
        return self._device.is_off()

    def read(self, offset: int, length: int) -> bytes:
        """Bytes as they were written; zeros where nothing was, or it was discarded."""
        return self._device.read(offset, length)

    def write(self, offset: int, data: bytes, stream: int = 0) -> None:
        """Write bytes, of a stream (0 to 65535). They may be lost in a power cut until :meth:`flush`."""
        self._device.write(offset, bytes(data), stream)

    def discard(self, offset: int, length: int) -> None:
        """The host no longer needs these bytes."""
        self._device.discard(offset, length)

    def flush(self) -> None:
        """All that was written and discarded survives a power cut from here on."""
        self._device.flush()

    def clean(self, pages: int = 64) -> bool:
        """Clean in the background, moving at most so many pages. True if there is more to do."""
        return self._device.clean(pages)

    def shutdown(self) -> None:
        """Shut the disk down. It has to be mounted again."""
        self._device.shutdown()

    def cut_power(self, after_ops: int = 0, seed: int = 1) -> None:
        """Cut the power so many programs and erases of the chip from now. The one that is hit is torn, as drawn from
        the seed; the command that needed it raises :class:`PowerOff`."""
        self._device.cut_power(after_ops, seed)

    def mount(self) -> Fields:
        """Turn the power off and on, and mount. A cut that has not come by now does not come any more.

        :returns: what was found: ``clean``, ``open_segments``, ``rescued_pages``, ``undone_segments``,
            ``lost_discards``, ``read_only``.
        """
        return Fields(json.loads(self._device.mount()))

    @property
    def stats(self) -> Fields:
        """Counters since the disk was made or mounted, as ``host_pages``, ``copied_pages``, ``erases``, ``wa_data``
        (pages programmed for each host page); and what there is, as ``live_pages``, ``free_segments``."""
        return Fields(json.loads(self._device.stats()))

    @property
    def segments(self) -> _native.Table:
        """Every segment now, as an Arrow table with a row for each: ``segment`` (uint32), ``state`` (text: ``free``,
        ``open``, ``closed``, ``victim``, ``erasing`` or ``bad``), ``pages``, ``valid_pages``, ``erases`` (uint32),
        ``class`` (uint8; null if it has none)."""
        return self._device.segments()

    def __repr__(self) -> str:
        stats: Any = self.stats
        return f"<wearwell.Device of {self.capacity:,} bytes, {stats.free_segments} of {stats.segments} segments free>"
