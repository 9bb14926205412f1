"""`tileir lint`: advice about programs that are correct."""

from __future__ import annotations

import difflib
from functools import partial
from typing import TYPE_CHECKING

from tileir.analyze.lint.configuration import LintOptions, LintSettings, options_for
from tileir.analyze.lint.fixes import WrittenText
from tileir.analyze.lint.linting import fixed_text, lint_module
from tileir.analyze.lint.rule import GROUPS
from tileir.analyze.lint.rules import RULES
from tileir.execute.locations.source_locations import with_source
from tileir.ir.core import Operation
from tileir.ir.location import SourceText, UnknownLocation
from tileir.ir.quoting import harmless
from tileir.serve.language.editing.quick_fixes import lint_help
from tileir.text.listing import PrintedLines, printed_lines
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage, UsageFailure
from tileir.tools.command import command
from tileir.tools.input import TEXT, Program, is_script, name_of, program_in, read_bytes, read_program, read_programs
from tileir.tools.options import JOBS, PROVE, PROVE_TIMEOUT, QUIET, READING, TARGET, VERSION
from tileir.tools.output import write_output
from tileir.tools.programs.reporting import FILES, REPORTING_OPTIONS, SEVERITIES, Outcome, Writer, joined, report_files

if TYPE_CHECKING:
    from tileir.tools.programs.prove import Prover

USAGE = Usage(
    "tileir lint",
    "FILE|SCRIPT.py...",
    ("tileir lint examples/softmax.mlir", "tileir lint --select all --target h100 examples"),
    (
        Option("--select RULES", "the rules to look for, instead of those that are on by default"),
        Option("--extend-select RULES", "rules to look for as well"),
        Option("--ignore RULES", "rules not to look for"),
        TARGET.with_help("the GPU that programs are for, as h100 or sm_90, for rules about hardware; may be repeated"),
        VERSION.with_help("the oldest version that the programs have to work with"),
        Option("--fix", "change the files, as far as findings have a safe fix, and report what is left"),
        Option("--diff", "show what --fix would change, and change nothing; exit status 1 if there is something"),
        PROVE,
        PROVE_TIMEOUT,
        *REPORTING_OPTIONS,
        QUIET,
        Option("--exit-zero", "exit status 0 whatever is found in programs that are correct"),
        Option("--config FILE", "read this file instead of the pyproject.toml nearest to each program"),
        Option("--isolated", "read no configuration"),
        Option("--list-rules", "list the rules and stop; 'tileir explain RULE' explains one"),
        JOBS,
        *READING,
    ),
    f"""\
{FILES}

RULES are names of rules, groups (memory), beginnings of names (unused-) or 'all', with commas between them; what names
a rule more exactly decides. A comment '// tileir: ignore[RULE]: why' silences a finding, at the end of its line or on
the line before; '// tileir: ignore-file[RULE]' at the top silences those of a file. pyproject.toml may have a table
[tool.tileir.lint] with select, extend-select, ignore, target, bytecode-version and per-file-ignores.""",
    statuses={0: "success, and there are no findings", 1: "there are findings, or a program has errors"},
    least=0,
)


@command(USAGE)
def run(given: Arguments) -> int:
    if given.has("list-rules"):
        print(rules_text())
        return EXIT_FINE
    if not given.operands:
        raise UsageFailure("expected FILE...")
    linter = Linter(given)
    return report_files(given, linter.writer, linter.outcome)


def rules_text() -> str:
    """The rules, under their groups."""
    lines: list[str] = []
    width = max(map(len, RULES))
    for group, words in GROUPS.items():
        rules = [rule for rule in RULES.values() if rule.group == group]
        lines += ["", f"{group}: {words}"] if rules else []
        lines.extend([f"  {rule.name:{width}}  {rule.summary}{'' if rule.default else ' (off)'}" for rule in rules])
    return "\n".join(lines[1:])


class Linter:
    """How files are linted and their findings written."""

    def __init__(self, given: Arguments) -> None:
        described = {key: (rule.severity, rule.summary, f"{rule.reason}  {rule.remedy}") for key, rule in RULES.items()}
        self._prover: Prover | None = None
        if given.has("prove"):
            from tileir.tools.programs.prove import Prover

            self._prover = Prover(given)
            described |= self._prover.rules
        self.writer: Writer = Writer(given, described)
        self._given: Arguments = given
        self._change: str = given.only_one("fix", "diff")
        self._options: LintOptions = LintOptions(
            given.names("select") if given.has("select") else None,
            given.names("extend-select"),
            given.names("ignore"),
            given.names("target") if given.has("target") else None,
            given.value("bytecode-version") or None,
        )
        # Report an error of the command line once, before any file is read.
        self._settings("-")

    def outcome(self, path: str) -> Outcome:
        settings = self._settings(path)
        if is_script(path):
            if self._change:
                raise ToolFailure(f"'{path}' is a Python script: --fix and --diff are for Tile IR texts")
            programs = read_programs(path, self._given, repeated=self._prover is not None)
            groups = [[each] for each in programs] if self._prover is None else self._prover.distinct(programs)
            return joined([self._findings(group, path, settings) for group in groups])
        program = read_program(path, self._given)
        out: list[str] = []
        if self._change and program.module is not None:
            if program.kind != TEXT:
                # Bytecode has no text to change.
                return Outcome([]) if self._change == "diff" else self._findings([program], path, settings)
            if path == "-" and self._change == "fix":
                raise ToolFailure("'--fix' changes files, and standard input is none: use '--diff'")
            fixed = fixed_text(program.text, partial(self._read, name_of(path)), settings)
            if self._change == "diff":
                found = difference(program.text, fixed.text, name_of(path), name_of(path)).rstrip("\n")
                return Outcome([harmless(found, "\n\t")], EXIT_WRONG_INPUT) if found else Outcome([])
            if fixed.count:
                write_output(path, fixed.text)
                program = read_program(path, self._given)
                if self.writer.format == "text" and not self.writer.quiet:
                    out.append(f"{harmless(path)}: {fixed.count} {'fix' if fixed.count == 1 else 'fixes'} made")
        outcome = self._findings([program], path, settings)
        return Outcome([*out, *outcome.out], outcome.status, outcome.counts)

    def _findings(self, programs: list[Program], path: str, settings: LintSettings) -> Outcome:
        """The findings in a program, which a script may launch several times."""
        program = programs[0]
        if program.module is None:
            return self.writer.diagnostics(program, path, ("error",))
        out: list[str] = []
        counts = [0] * len(SEVERITIES)
        explained: set[str] = set()
        texts: dict[SourceText, WrittenText] = {}
        printed: PrintedLines | None = None
        scripts = None if program.launch is None else {path: read_bytes(path).decode("utf-8", "replace")}
        for finding in lint_module(program.module, settings, scripts):
            counts[SEVERITIES.index(finding.severity)] += 1
            rule = RULES[finding.rule]
            # Once for each file, not for each of ten findings of a rule.
            is_first = finding.rule not in explained
            reasons = (rule.reason,) if is_first else ()
            remedy = finding.remedy or rule.remedy
            explained.add(finding.rule)
            if isinstance(finding.location, UnknownLocation) and finding.operation is not None:
                # Bytecode without locations.
                printed = printed if printed is not None else printed_lines(program.module)
                line = printed.starts.get(finding.operation)
                if line is not None:
                    reasons = (f"line {line + 1} of 'tileir dis': {printed.lines[line].strip()}", *reasons)
            fix = lint_help(finding, texts)
            diagnostic = finding.diagnostic(reasons, remedy if is_first and not fix else "")
            diagnostic.notes += fix
            diagnostic.location = with_source(diagnostic.location)
            out.append(self.writer.shown(diagnostic, path, finding.rule))
        if self._prover is not None:
            refuted = self._prover.findings(programs, path, self.writer)
            out += refuted.out
            counts = [sum(pair) for pair in zip(counts, refuted.counts, strict=True)]
        fails = any(counts) and not self._given.has("exit-zero")
        return Outcome(out, EXIT_WRONG_INPUT if fails else EXIT_FINE, counts)

    def _read(self, name: str, text: str) -> Operation | None:
        return program_in(text.encode("utf-8", "surrogateescape"), name, self._given).module

    def _settings(self, path: str) -> LintSettings:
        options, config = self._options, self._given.value("config")
        return (options if self._given.has("isolated") else options_for(path, options, config)).settings(path)


def difference(before: str, after: str, old: str, new: str) -> str:
    """What is different about two texts, as `diff -u` shows it."""
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), old, new)
    return "".join([line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines])
