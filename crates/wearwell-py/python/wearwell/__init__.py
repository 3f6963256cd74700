"""Simulate flash translation layers.

>>> import wearwell
>>> result = wearwell.run(workload="zipf:0.99", which="cost-benefit", write="1GiB")
>>> result.wa_data > 1
True

The arguments of :func:`run` are those of ``wearwell run`` on the command line, with underscores for hyphens; the
fields of a :class:`Result` are those of its JSON.
"""

from ._device import Device
from ._listing import chips, policies
from ._native import ArgumentError, DeviceError, Error, PolicyError, PowerOff, RunError, TraceError, __version__
from ._policy import CopyBatch, DeviceShape, HostBatch, PlacementPolicy, SegmentBatch, VictimScore
from ._run import Comparison, Result, compare, run
from ._sweep import Study, sweep
from ._trace import Trace

__all__ = [
    "ArgumentError",
    "Comparison",
    "CopyBatch",
    "Device",
    "DeviceError",
    "DeviceShape",
    "Error",
    "HostBatch",
    "PlacementPolicy",
    "PolicyError",
    "PowerOff",
    "Result",
    "RunError",
    "SegmentBatch",
    "Study",
    "Trace",
    "TraceError",
    "VictimScore",
    "__version__",
    "chips",
    "compare",
    "policies",
    "run",
    "sweep",
]
