"""Traces of requests."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any, Optional, Union

from . import _native
from ._run import Fields

#: Rows of a batch, unless another number is asked for.
BATCH_ROWS = 1 << 16


class Trace:
    """Requests of one device or of several, from a file, from columns, or from rows.

    >>> trace = wearwell.Trace("volume.csv.zst")
    >>> trace.stats()["0"].written_bytes
    >>> wearwell.run(workload=trace, device="0")

    :param source: the path of a file in any format that the command line reads; a table that offers
        ``__arrow_c_stream__`` (of pandas, polars, pyarrow, DuckDB, ...) with columns ``time_us``, ``op`` (R, W, D for
        discard, F for flush, Z for zeros), ``offset``, ``length`` (bytes), and maybe ``stream`` and ``device``; or an
        iterable of tuples of these.
    :param name: what errors call it.

    A file is read anew whenever it is needed, and never kept; columns and rows are kept, at 36 bytes a request. It can
    be iterated, in tuples of all six, and offers ``__arrow_c_stream__`` itself.

    :raises TraceError: for columns or rows that are no trace. A file is looked at when it is used, and whatever uses it
        raises this.
    """

    def __init__(self, source: Any, name: str = "trace") -> None:
        self.path: Optional[str] = None
        if isinstance(source, (str, os.PathLike)):
            path = os.fspath(source)
            self.path = path
            self._trace = _native.Trace.open(path)
        elif hasattr(source, "__arrow_c_stream__"):
            self._trace = _native.Trace.from_stream(source, name)
        elif type(source).__module__.startswith("pandas"):
            import pyarrow

            self._trace = _native.Trace.from_stream(pyarrow.Table.from_pandas(source), name)
        else:
            self._trace = _native.Trace.from_rows(source, name)

    @property
    def name(self) -> str:
        """Its path, or the name it was given."""
        return self._trace.name

    def stats(self) -> dict[str, Fields]:
        """By device: ``requests``, ``reads``, ``writes``, ``discards``, ``flushes``; ``read_bytes``, ``written_bytes``;
        ``write_ratio`` (writes of reads and writes, 0 to 1); ``duration_us``; ``end_bytes`` (where the last request
        ends); ``working_set_bytes`` (pages of 4 KiB that were written); ``writes_to_top_fifth`` (part of the page
        writes that went to the fifth of those pages written most, 0 to 1); ``update_interval_bytes`` (pairs of a
        quantile, and the bytes written between two writes of a page, up to the next power of two).

        One pass; memory grows with the pages written, not with the trace.
        """
        return {stats["device"]: Fields(stats) for stats in json.loads(self._trace.stats())}

    def volumes(self) -> list[str]:
        """The names of its devices; an empty one for a format that names none."""
        return [device for device, _ in self._trace.volumes()]

    def batches(self, rows: int = BATCH_ROWS) -> _native.RecordBatchReader:
        """All requests as a stream of Arrow batches of so many rows: ``time_us`` (uint64, microseconds from where the
        format counts them), ``op`` (text), ``offset``, ``length`` (uint64, bytes), ``stream`` (uint16), ``device``
        (text). No more than four batches are held at a time."""
        return self._trace.batches(max(rows, 1))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.batches().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[tuple[int, str, int, int, int, str]]:
        """Tuples (time_us, op, offset, length, stream, device)."""
        import pyarrow

        for batch in pyarrow.RecordBatchReader.from_stream(self.batches()):
            yield from zip(*(column.to_pylist() for column in batch.columns))

    def to_parquet(self, path: Union[str, "os.PathLike[str]"], rows: int = 1 << 20) -> None:
        """Write all requests to a Parquet file, compressed by Zstandard, with so many in a row group. A row group is
        held at a time, at 36 bytes a request. The file appears when it is complete."""
        part = f"{os.fspath(path)}.part"
        try:
            self._trace.to_parquet(part, max(rows, 1))
            os.replace(part, path)
        finally:
            # An incomplete file is of no use.
            with contextlib.suppress(FileNotFoundError):
                os.remove(part)

    def __repr__(self) -> str:
        return f"<wearwell.Trace {self.name}>"
