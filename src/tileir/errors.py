"""Every error and warning of tileir; those that most programs catch are in `tileir` too.

>>> try:
...     tileir.load(b"entry @k() { %x = negf %y : tile<i32> return }")
... except tileir.TileIRError as error:
...     print(type(error).__module__, type(error).__name__, len(error.diagnostics), error.message)
tileir.errors ParseError 1 use of undeclared SSA value name '%y'

Each part of tileir has its own:

>>> from tileir import BuildError, BytecodeError, ExecutionError, LaunchError, MissingDependencyError, OptionError
>>> from tileir import ParseError, PassError, SanitizerError, TileIRError, VerifyError
>>> def caught(work, *arguments, **options):
...     try:
...         work(*arguments, **options)
...     except TileIRError as error:
...         return type(error)
>>> caught(tileir.parse, "x") is ParseError, caught(tileir.load, "examples/broken.mlir") is VerifyError
(True, True)
>>> caught(tileir.from_bytecode, b"no") is BytecodeError, caught(tileir.optimize, module, 7) is OptionError
(True, True)
>>> issubclass(caught(tileir.run_passes, module, ["no"]), PassError), issubclass(MissingDependencyError, LaunchError)
(True, True)
>>> caught(tileir.types.tile, (3,), tileir.types.f32) is BuildError, caught(kernel.launch, 8, ()) is LaunchError
(True, True)
>>> failing = 'entry @k() { %no = constant <i1: false> : tile<i1> assert %no, "no" : tile<i1> return }'
>>> issubclass(caught(tileir.compile(tileir.parse(failing)).launch, 1), ExecutionError)
True
>>> racy = tileir.compile("examples/racy.mlir")
>>> caught(racy.launch, 4, (numpy.ones(512, "i4"), numpy.zeros(1, "i4"), 512), sanitize=True) is SanitizerError
True
"""

from tileir.public import publish

publish(__name__)
