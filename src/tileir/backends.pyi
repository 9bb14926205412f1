# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir.execute.engine.interface import Backend as Backend, BackendRepresentation as BackendRepresentation, DirectLaunches as DirectLaunches, KernelSettings as KernelSettings, LaunchOptions as LaunchOptions, LocatedText as LocatedText, Measurement as Measurement, PreparedKernel as PreparedKernel
from tileir.execute.engine.registry import register_backend as register_backend, unregister_backend as unregister_backend

__all__ = ["Backend", "BackendRepresentation", "DirectLaunches", "KernelSettings", "LaunchOptions", "LocatedText", "Measurement", "PreparedKernel", "register_backend", "unregister_backend"]
