"""The public names: of each public module, from which module of the package each comes.

A name is imported when it is first used: the command line passes through `tileir/__init__.py` on its way to what it
needs, and checks a small program in the time that a few imports take.  Type checkers read the names in stubs, which
`make docs` writes from here.  What is in a module with a `!` needs NumPy and ml_dtypes;
`public=own` has another name in its module.
"""

from __future__ import annotations

import sys

_HOMES = {
    "tileir": {
        "tileir.analyze.difference.difference": "diff",
        "tileir.analyze.lint.linting": "lint",
        "tileir.analyze.reducing.reduce": "reduce",
        "tileir.analyze.smith.program": "smith",
        "tileir.builder": "Builder",
        "tileir.errors": "BuildError BytecodeError ExecutionError LaunchError MissingDependencyError OptionError"
        " ParseError PassError SanitizerError TileIRError VerifyError",
        "tileir.interface": "from_bytecode load losses parse to_bytecode verify",
        "tileir.ir.core": "Block Module Operation Region",
        "tileir.ir.diagnostics": "Diagnostic",
        "tileir.ir.values": "BlockArgument OperationResult Value",
        "tileir.judging.executor.sweep": "sweep",
        "tileir.judging.tasks.judge": "judge",
        "tileir.passes.pipeline": "optimize run_passes",
        "tileir.ttir": "from_ttir",
        "!tileir.analyze.cost.costs": "cost",
        "!tileir.bridge.compiling": "compile",
        "!tileir.bridge.emulate": "emulate",
        "!tileir.bridge.launch": "launch",
        "!tileir.bridge.operators": "custom_op",
        "!tileir.bridge.recording": "record",
        "!tileir.execute.launching.kernel": "Kernel",
        "!tileir.proofs.prover": "prove",
        "!tileir.serve.debugger.scripts": "debug",
        "!tileir.serve.explorer.exploring": "explore",
    },
    "tileir.analysis": {
        "tileir.analyze.difference.changes": "ProgramChange",
        "tileir.analyze.difference.difference": "ProgramDifference",
        "tileir.analyze.forms.form": "Representation",
        "tileir.analyze.forms.forms": "Representations",
        "tileir.analyze.lint.fixes": "LintFix",
        "tileir.analyze.lint.rule": "LintFinding",
        "tileir.analyze.reducing.reduce": "Reduction ReductionProgress",
        "tileir.analyze.smith.program": "SMITH_FAMILIES SMITH_STREAM SmithProgram",
        "!tileir.analyze.difference.semantic": "SemanticDifference",
        "!tileir.proofs.records": "Assumption",
        "!tileir.proofs.report": "Answer Proof",
        "!tileir.serve.explorer.exploring": "Exploration",
    },
    "tileir.backends": {
        "tileir.execute.engine.interface": "Backend BackendRepresentation DirectLaunches KernelSettings"
        " LaunchOptions LocatedText Measurement PreparedKernel",
        "tileir.execute.engine.registry": "register_backend unregister_backend",
    },
    "tileir.costs": {
        "tileir.analyze.cost.occupancy": "Occupancy",
        "tileir.analyze.cost.result": "Cost Roofline",
    },
    "tileir.errors": {
        "tileir.analyze.reducing.search": "NotInterestingError",
        "tileir.bytecode.primitives": "BytecodeError",
        "tileir.cpp.errors": "CppError",
        "tileir.execute.arguments.argument_text": "LaunchDescriptionError",
        "tileir.execute.errors": "AssemblerWarning AssertionFailedError ChoiceError CompilationError"
        " EmulationError ExecutionError HostCopyWarning InternalError LaunchError MissingDependencyError"
        " NestingError RecordingError SearchTimeout WrongDeviceError",
        "tileir.execute.gpu.cubin": "CubinError",
        "tileir.execute.gpu.driver.library": "DriverError NoGpuError",
        "tileir.execute.gpu.errors": "AssemblerCrash AssemblerError AssemblerTimeout TritonCrash TritonError"
        " TritonTimeout",
        "tileir.execute.sanitizer.report": "SanitizerError",
        "tileir.ir.diagnostics": "BuildError OptionError ParseError PassError TileIRError VerifyError VersionError",
        "tileir.judging.errors": "ResultsError SweepError",
        "tileir.judging.tasks.settings": "TaskError",
        "tileir.passes.registry": "PassOptionError PipelineError",
        "tileir.rewrite.driver": "RewriteError",
        "tileir.ttir.translation": "TTIRError",
        "tileir.serve.explorer.questions": "QuestionError",
    },
    "tileir.kernels": {
        "tileir.execute.arguments.argument_text": "LaunchDescription",
        "tileir.execute.gpu.cubin": "Cubin",
        "tileir.execute.launching.release": "release_memory",
        "tileir.execute.launching.timing": "Timing",
        "tileir.execute.work.operations": "Work",
        "!tileir.bridge.specialized": "SpecializedKernel",
        "!tileir.execute.arguments.binding": "pointer_to",
        "!tileir.execute.arguments.multicast": "MulticastArray",
        "!tileir.execute.bound": "BoundLaunch",
        "!tileir.execute.overlap": "overlap",
    },
    "tileir.observers": {
        "!tileir.execute.memory": "Memory",
        "!tileir.execute.observing.observer": "Access Observer ObserverCallback TileBlock",
        "!tileir.execute.observing.trace": "Trace",
    },
    "tileir.passes": {
        "tileir.ir.core": "InsertionPoint",
        "tileir.passes.catalog": "register_pass registered_passes",
        "tileir.passes.pipeline": "PassReport run_pipeline",
        "tileir.passes.registry": "Pass PassSession",
        "tileir.rewrite.driver": "Fold Pattern Statistics apply_greedily",
        "tileir.rewrite.fact": "Fact",
        "tileir.rewrite.facts": "Facts",
        "tileir.rewrite.rewriter": "Rewriter",
    },
    "tileir.recording": {
        "!tileir.analyze.comparing.compare": "compare",
        "!tileir.analyze.comparing.comparison": "Comparison",
        "!tileir.execute.recording.arrays": "RecordedArray",
        "!tileir.execute.recording.file_reader": "load",
        "!tileir.execute.recording.recording": "Recording",
    },
    "tileir.sanitizer": {
        "tileir.execute.sanitizer.report": "Finding SanitizerReport",
        "!tileir.execute.sanitizer.coverage": "Coverage",
        "!tileir.execute.sanitizer.number_watch": "NumberWatch",
        "!tileir.execute.sanitizer.sanitizer": "Sanitizer",
    },
    "tileir.sweeps": {
        "tileir.judging.executor.scheduler": "SweepProgress",
        "tileir.judging.executor.sweep": "SweepResult judge_kernels",
        "tileir.judging.inputs": "SeedRange",
        "tileir.judging.model": "JudgePlan JudgeStage ProcessLimits SweepInput Verdict",
        "tileir.judging.report.comparison": "SweepComparison",
        "tileir.judging.report.reporting": "SweepReport report",
        "tileir.judging.results.results": "ResultRow Results",
        "tileir.judging.tasks.judgment": "JudgeCheck Judgment",
    },
    "tileir.attributes": {
        "tileir.dialect.attributes": "BoundedAttribute DivByAttribute OptimizationHintsAttribute"
        " PredicateAttribute SameElementsAttribute bounded div_by optimization_hints same_elements",
        "tileir.dialect.debug_info": "DICompileUnit DIFile DILexicalBlock DILocation DISubprogram DebugScope"
        " LocalScope di_compile_unit di_file di_lexical_block di_location di_subprogram",
        "tileir.ir.attributes": "ArrayAttribute Attribute DenseArrayAttribute DictionaryAttribute EnumAttribute"
        " EnumKind FloatAttribute IntegerAttribute OpaqueAttribute StringAttribute SymbolAttribute TypeAttribute"
        " UnitAttribute array_attribute bool_attribute dense_array_attribute dictionary_attribute float_attribute"
        " integer_attribute string_attribute symbol_attribute type_attribute unit_attribute=UNIT",
        "tileir.ir.dense": "DenseAttribute dense_attribute",
        "tileir.ir.location": "CallSiteLocation FileLocation FusedLocation Location NameLocation OpaqueLocation"
        " SourceText TextLocation UnknownLocation call_site_location file_location fused_location name_location"
        " unknown_location=UNKNOWN",
    },
    "tileir.types": {
        "tileir.dialect.construct": "gather_scatter_view partition_view ptr strided_view tensor_view tile",
        "tileir.dialect.types": "GatherScatterViewType PartitionViewType PointerType StridedViewType"
        " TensorViewType TileType TileViewType TokenType token=TOKEN",
        "tileir.ir.types": "FloatType FunctionType IntegerType Type bf16=BF16 f16=F16 f32=F32 f4E2M1FN=F4E2M1FN"
        " f64=F64 f8E4M3FN=F8E4M3FN f8E5M2=F8E5M2 f8E8M0FNU=F8E8M0FNU fnv8E5M3FNU=FNV8E5M3FNU i16=I16 i1=I1"
        " i32=I32 i4=I4 i64=I64 i8=I8 tf32=TF32",
    },
}
TABLES = {
    module: {text.partition("=")[0]: (home, text.rpartition("=")[2]) for home in homes for text in homes[home].split()}
    for module, homes in _HOMES.items()
}
"""The module that defines each name, and its name there, by public module."""
MODULES = (*[module[7:] for module in TABLES if module != "tileir"], "declarations")
"""The public modules in the package."""


def publish(module: str) -> None:
    """Give a module its public names."""
    table, target = TABLES[module], vars(sys.modules[module])

    def find(name: str) -> object:
        if module == "tileir" and name in MODULES:
            return __import__(f"tileir.{name}", fromlist=[name])
        if name not in table:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        # Importing it installs the printer of operations, which every public name may need.
        __import__("tileir.interface")
        home, own = table[name]
        if home[0] == "!":
            from tileir.execute.errors import MissingDependencyError, placeholder

            try:
                # Its error names the package to install.
                __import__("tileir.execute.launching.kernel")
            except MissingDependencyError as missing:
                # Not kept: the package may be installed while this process goes on.
                return placeholder(module, name, missing)
        value: object = getattr(__import__(home.removeprefix("!"), fromlist=[own]), own)
        target[name] = value
        return value

    target["__all__"] = sorted(table)
    target["__getattr__"] = find
    target["__dir__"] = lambda: sorted({*target, *table, *(MODULES if module == "tileir" else ())})
