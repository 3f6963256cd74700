"""Traces of requests."""

from __future__ import annotations

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

    :param source: the path of a file in any format that the command line reads, or in Parquet; a table that offers
        ``__arrow_c_stream__`` (of pandas, polars, pyarrow, DuckDB, ...) with columns ``time_us``, ``op`` (R, W, D for
        discard, F for flush, Z for zeros), ``offset``, ``length`` (bytes), and maybe ``stream`` and ``device``; or an
        iterable of tuples of these.
    :param name: what errors call it.

    A file is read anew whenever it is needed, and never kept; columns and rows are kept, at 48 bytes a request.
    """

    def __init__(self, source: Any, name: str = "trace") -> None:
        self.path: Optional[str] = None
        if isinstance(source, (str, os.PathLike)):
            path = os.fspath(source)
            if _is_parquet(path):
                import pyarrow.parquet

                wanted = ["time_us", "op", "offset", "length", "stream", "device"]
                file = pyarrow.parquet.ParquetFile(path)
                columns = [column for column in wanted if column in file.schema_arrow.names]
                batches = file.iter_batches(columns=columns)
                schema = pyarrow.schema([file.schema_arrow.field(column) for column in columns])
                reader = pyarrow.RecordBatchReader.from_batches(schema, batches)
                self._trace = _native.Trace.from_stream(reader, path)
            else:
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
        """By device: requests, bytes, ``working_set_bytes`` (pages of 4 KiB that were written),
        ``writes_to_top_fifth`` (part of the page writes that went to the fifth of those pages written most),
        ``update_interval_bytes`` (quantile, and bytes written between two writes of a page, up to the next power of
        two).

        One pass; memory grows with the pages written, not with the trace.
        """
        return {stats["device"]: Fields(stats) for stats in json.loads(self._trace.stats())}

    def volumes(self) -> list[str]:
        """The names of its devices; an empty one for a format that names none."""
        return list(self.stats())

    def batches(self, rows: int = BATCH_ROWS) -> _native.RecordBatchReader:
        """All requests as a stream of Arrow batches, with the columns above. No more than four batches are held at a
        time; times are microseconds from where the format counts them."""
        return self._trace.batches(max(rows, 1))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.batches().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[tuple[int, str, int, int, int, str]]:
        """Tuples (time_us, op, offset, length, stream, device)."""
        import pyarrow

        for batch in pyarrow.RecordBatchReader.from_stream(self.batches()):
            yield from zip(*(column.to_pylist() for column in batch.columns))

    def to_parquet(self, path: Union[str, "os.PathLike[str]"], rows: int = 1 << 20) -> None:
        """Write all requests to a Parquet file, compressed by Zstandard, with so many in a row group."""
        import pyarrow
        import pyarrow.parquet

        reader = pyarrow.RecordBatchReader.from_stream(self.batches(rows))
        part = f"{os.fspath(path)}.part"
        with pyarrow.parquet.ParquetWriter(part, reader.schema, compression="zstd") as writer:
            for batch in reader:
                writer.write_batch(batch, row_group_size=rows)
        os.replace(part, path)

    def __repr__(self) -> str:
        return f"<wearwell.Trace {self.name}>"


def _is_parquet(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        # Whoever reads it says why that does not work.
        return False
