"""What `tileir.compile` and the methods of a kernel return, and what launches share."""

from __future__ import annotations

from tileir.public import publish

publish(
    __name__,
    {
        "tileir.execute.arguments.argument_text": "LaunchDescription",
        "tileir.execute.gpu.cubin": "Cubin",
        "tileir.execute.gpu.triton.code": "Tuning",
        "tileir.execute.launching.release": "release_memory",
        "tileir.execute.launching.timing": "Timing",
        "tileir.execute.work.operations": "Work",
    },
    {
        "tileir.bridge.specialized": "SpecializedKernel",
        "tileir.execute.arguments.binding": "pointer_to",
        "tileir.execute.bound": "BoundLaunch",
        "tileir.execute.overlap": "overlap",
    },
)
