"""Every error and warning of tileir; those that most programs catch are in `tileir` too.

>>> try:
...     tileir.load(b"entry @k() { %x = negf %y : tile<i32> return }")
... except tileir.TileIRError as error:
...     print(type(error).__module__, type(error).__name__, len(error.diagnostics), error.message)
tileir.errors ParseError 1 use of undeclared SSA value name '%y'
"""

from __future__ import annotations

from tileir.public import publish

publish(
    __name__,
    {
        "tileir.analyze.reducing.search": "NotInterestingError",
        "tileir.bytecode.primitives": "BytecodeError",
        "tileir.execute.arguments.argument_text": "LaunchDescriptionError",
        "tileir.execute.errors": "AssemblerWarning AssertionFailedError ChoiceError CompilationError EmulationError"
        " ExecutionError HostCopyWarning InternalError LaunchError MissingDependencyError NestingError RecordingError"
        " SearchTimeout WrongDeviceError",
        "tileir.execute.gpu.cubin": "CubinError",
        "tileir.execute.gpu.driver.library": "DriverError NoGpuError",
        "tileir.execute.gpu.errors": "AssemblerCrash AssemblerError AssemblerTimeout TritonCrash TritonError"
        " TritonTimeout",
        "tileir.execute.sanitizer.report": "SanitizerError",
        "tileir.ir.diagnostics": "BuildError OptionError ParseError PassError TileIRError VerifyError VersionError",
        "tileir.judge.errors": "ResultsError SweepError",
        "tileir.passes.registry": "PassOptionError PipelineError",
        "tileir.rewrite.driver": "RewriteError",
        "tileir.serve.explorer.questions": "QuestionError",
    },
)
