"""Backends: what runs kernels, and how to add one (docs/guide/execution.md).

>>> from tileir.backends import Backend, PreparedKernel, register_backend, unregister_backend
>>> from tileir.backends import BackendRepresentation, DirectLaunches, LocatedText, Measurement
>>> class Counting(PreparedKernel):
...     def launch(self, grid, arguments, options):
...         print(type(options).__name__, grid, len(arguments))
...     def timed(self, grid, arguments, options, repeat, flush_cache) -> Measurement:
...         return Measurement([1e-6] * 3, "", "a clock of its own")
...     def direct(self, kind, options) -> DirectLaunches | None:
...         return None
...     def located(self, stage) -> LocatedText:
...         return LocatedText(["count"], [[]], [])
>>> class CountingBackend(Backend):
...     name = "counting"
...     def representations(self) -> list[BackendRepresentation]:
...         return [BackendRepresentation("count", "What is counted", "tile", "count")]
...     def prepare(self, entry, globals, settings):
...         print(type(settings).__name__)
...         return Counting()
>>> register_backend(CountingBackend())
>>> tileir.compile(module, backend="counting").launch(8, args)
KernelSettings
LaunchOptions (8, 1, 1) 4
>>> unregister_backend("counting")
"""

from tileir.public import publish

publish(__name__)
