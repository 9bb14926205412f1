# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir.bridge.specialized import SpecializedKernel as SpecializedKernel
from tileir.execute.arguments.argument_text import LaunchDescription as LaunchDescription
from tileir.execute.arguments.binding import pointer_to as pointer_to
from tileir.execute.arguments.multicast import MulticastArray as MulticastArray
from tileir.execute.bound import BoundLaunch as BoundLaunch
from tileir.execute.gpu.cubin import Cubin as Cubin
from tileir.execute.launching.release import release_memory as release_memory
from tileir.execute.launching.timing import Timing as Timing
from tileir.execute.overlap import overlap as overlap
from tileir.execute.work.operations import Work as Work

__all__ = ["BoundLaunch", "Cubin", "LaunchDescription", "MulticastArray", "SpecializedKernel", "Timing", "Work", "overlap", "pointer_to", "release_memory"]
