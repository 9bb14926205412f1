"""Backends: what runs kernels, and how to add one (docs/guide/execution.md)."""

from __future__ import annotations

from tileir.public import publish

publish(
    __name__,
    {
        "tileir.execute.engine.interface": "Backend BackendRepresentation DirectLaunches KernelSettings LaunchOptions"
        " LocatedText Measurement PreparedKernel",
        "tileir.execute.engine.registry": "register_backend unregister_backend",
    },
)
