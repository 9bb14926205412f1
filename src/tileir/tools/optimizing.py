"""The options of `tileir opt` that change the program, and what they do."""

from __future__ import annotations

import sys

from tileir.annotations import TYPE_CHECKING
from tileir.ir.core import Operation
from tileir.ir.declaration import Version, version_text
from tileir.tools.arguments import EXIT_USAGE, Arguments, Option
from tileir.tools.programs import ToolFailure

if TYPE_CHECKING:
    from tileir.passes.pipeline import PassReport
    from tileir.passes.pipeline_text import Step

OPTIMIZING_OPTIONS = (
    Option("O", "optimize at this level, as in -O3", choices=("0", "1", "2", "3")),
    Option("passes", "run these passes instead: names with commas between, NAME{OPTION=VALUE}", value="PASSES"),
    Option("rules", "NVIDIA's public rules, or those and the drafts'", choices=("parity", "full")),
    Option("fuse-fma", "with -O, also fuse products and sums, which changes rounding"),
    Option("print-after-each", "show the program after each pass, on standard error"),
    Option("timing", "show the time each pass took, on standard error"),
    Option("statistics", "show how often each rule fired, on standard error"),
    Option("debug", "show each step of rewriting, before and after, on standard error"),
)


class Optimization:
    """The passes a command line asks for; without `-O`, `--passes` or `--rules` there are none."""

    def __init__(self, given: Arguments) -> None:
        self.given: Arguments = given
        self.steps: list[Step] = []
        self.rules: str = given.value("rules", "parity")
        if not (given.has("O") or given.has("passes") or given.has("rules")):
            return
        if given.has("O") and given.has("passes"):
            raise ToolFailure("'-O' and '--passes' exclude each other", EXIT_USAGE)
        # Imported here: who only prints a program does not pay for the optimizer.
        from tileir.passes.pipeline import check_steps, passes_of_level
        from tileir.passes.pipeline_text import parse_pass, parse_passes
        from tileir.passes.registry import PipelineError

        try:
            if given.has("passes"):
                self.steps = parse_passes(given.value("passes", ""))
            else:
                names = passes_of_level(int(given.value("O", "3")), self.rules, given.has("fuse-fma"))
                self.steps = [parse_pass(name) for name in names]
            check_steps(self.steps)
        except PipelineError as error:
            raise ToolFailure(error.message, EXIT_USAGE) from None

    def run(self, module: Operation, version: Version) -> bool:
        """Run the passes; mistakes are printed, False says that there were some."""
        if not self.steps:
            return True
        from tileir.ir.diagnostics import TileIRError
        from tileir.passes.pipeline import PassReport, run_steps, run_until_stable

        given = self.given
        report = PassReport(
            verify=True,
            version=version_text(version),
            statistics=given.has("statistics"),
            after_each=_print_module if given.has("print-after-each") else None,
            trace=_print_step if given.has("debug") else None,
        )
        try:
            if given.has("passes"):
                run_steps(module, self.steps, self.rules, report)
            else:
                run_until_stable(module, self.steps, self.rules, report)
        except TileIRError as error:
            for diagnostic in error.diagnostics:
                print(diagnostic.render(), file=sys.stderr)
            return False
        finally:
            self._tell(report)
        return True

    def _tell(self, report: PassReport) -> None:
        lines: list[str] = [diagnostic.render() for diagnostic in report.diagnostics]
        if self.given.has("timing"):
            lines += report.timing_lines()
        if self.given.has("statistics"):
            lines += report.statistics_lines()
        for line in lines:
            print(line, file=sys.stderr)


def _print_module(name: str, module: Operation) -> None:
    print(f"// -----// after {name} //----- //\n{module.text()}", file=sys.stderr)


def _print_step(text: str) -> None:
    print(text, file=sys.stderr)
