"""`tileir lint`: advice about programs that are correct."""

from __future__ import annotations

import sys

from tileir.analyze.lint.configuration import LintOptions, LintSettings, options_for, unknown_rule
from tileir.analyze.lint.linting import FixedText, fixed_text, lint_module
from tileir.analyze.lint.rule import GROUPS, LintFinding, Rule
from tileir.analyze.lint.rules import RULES
from tileir.annotations import TYPE_CHECKING
from tileir.ir.core import Operation
from tileir.ir.diagnostics import OptionError
from tileir.ir.location import UnknownLocation
from tileir.ir.quoting import harmless
from tileir.ir.versions import VERSION_NAMES
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_USAGE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.programs import (
    READING_OPTIONS,
    STANDARD_INPUT,
    TEXT,
    Program,
    Settings,
    guarded,
    is_script,
    program_in,
    read_bytes,
    read_program,
    read_programs,
    reason,
)
from tileir.tools.reporting import FILES, JOBS, REPORTING_OPTIONS, SEVERITIES, Outcome, Writer, joined, report_files

if TYPE_CHECKING:
    from tileir.text.listing import PrintedLines

USAGE = Usage(
    "tileir lint",
    "Reads Tile IR programs and gives advice: what is useless, slow, not portable, or a mistake in all likelihood.",
    "FILE|SCRIPT.py...",
    (
        Option("select", "the rules to look for, instead of those that are on by default", value="RULES"),
        Option("extend-select", "rules to look for as well", value="RULES"),
        Option("ignore", "rules not to look for", value="RULES"),
        Option(
            "target", "GPUs that the programs are for, such as h100 or sm_90, for rules about hardware", value="NAMES"
        ),
        Option("bytecode-version", "the oldest version that the programs have to work with", choices=VERSION_NAMES),
        Option("fix", "change the files, as far as findings have a safe fix, and report what is left"),
        Option("diff", "show what --fix would change, and change nothing; exit status 1 if there is something"),
        *REPORTING_OPTIONS,
        Option("quiet", "no counts", short="q"),
        Option("exit-zero", "exit status 0 whatever is found in programs that are correct"),
        Option("config", "read this file instead of the pyproject.toml nearest to each program", value="FILE"),
        Option("isolated", "read no configuration"),
        Option("list-rules", "list the rules and stop"),
        Option("explain", "show what there is to know about a rule and stop", value="RULE"),
        JOBS,
        COLOR,
        *READING_OPTIONS,
    ),
    least=0,
    most=-1,
    details=f"""\
{FILES}

RULES are names of rules, groups (memory), beginnings of names (unused-) or 'all', with commas between them; what names
a rule more exactly decides. A comment '// tileir: ignore[RULE]: why' silences a finding, at the end of its line or on
the line before; '// tileir: ignore-file[RULE]' at the top silences those of a file. pyproject.toml may have a table
[tool.tileir.lint] with select, extend-select, ignore, target, bytecode-version and per-file-ignores.

Exit status: 0 no findings, 1 findings or errors of a program, 2 the command line is wrong or a file cannot be read.""",
)


def run(arguments: list[str]) -> int:
    return guarded("tileir lint", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    if given.has("list-rules"):
        print(rules_text())
        return EXIT_FINE
    if given.has("explain"):
        return _explain(given.value("explain", ""))
    if not given.operands:
        print("tileir lint: expected FILE...\nTry 'tileir lint --help'.", file=sys.stderr)
        return EXIT_USAGE
    return report_files(given, (linter := Linter(given)).writer, linter.outcome)


def rules_text() -> str:
    """The rules, under their groups."""
    lines: list[str] = []
    width = max([len(name) for name in RULES])
    for group, words in GROUPS.items():
        rules = [rule for rule in RULES.values() if rule.group == group]
        if rules:
            lines.extend(["", f"{group}: {words}"])
        lines.extend([f"  {rule.name:{width}}  {rule.summary}{'' if rule.default else ' (off)'}" for rule in rules])
    return "\n".join(lines[1:])


def _explain(name: str) -> int:
    # Imported here: the layout of pages is of no use to who lints.
    from tileir.analyze.documentation.pages import rule_page
    from tileir.tools.explain import page_text

    if name not in RULES:
        raise ToolFailure(unknown_rule(name), EXIT_USAGE)
    print(page_text(rule_page(RULES[name])), end="")
    return EXIT_FINE


class Linter:
    """How files are looked at and their findings written."""

    def __init__(self, given: Arguments) -> None:
        described = {
            rule.name: (rule.severity, rule.summary, f"{rule.reason}  {rule.remedy}") for rule in RULES.values()
        }
        self.writer: Writer = Writer("tileir lint", given, described)
        self.reading: Settings = Settings(given)
        self.fix: bool = given.has("fix")
        self.diff: bool = given.has("diff")
        if self.fix and self.diff:
            raise ToolFailure("'--fix' and '--diff' exclude each other", EXIT_USAGE)
        self.exit_zero: bool = given.has("exit-zero")
        self.isolated: bool = given.has("isolated")
        self.configuration: str = given.value("config", "")
        self.given: LintOptions = _given_options(given)
        # So that a mistake of the command line is said once, before any file is read.
        self._settings("-")

    def outcome(self, path: str) -> Outcome:
        out: list[str] = []
        try:
            settings = self._settings(path)
            if is_script(path):
                if self.fix or self.diff:
                    raise ToolFailure(
                        f"'{path}' is a Python script: --fix and --diff are for Tile IR texts", EXIT_USAGE
                    )
                return joined([self._findings(each, path, settings) for each in read_programs(path, self.reading)])
            program = read_program(path, self.reading)
            if program.module is not None and program.kind == TEXT and (self.fix or self.diff):
                fixed = self._fixed(program, path, settings)
                if self.diff:
                    return differences(program.text, fixed.text, path)
                if fixed.count:
                    write_text(path, fixed.text)
                    program = read_program(path, self.reading)
                    if self.writer.format == "text" and not self.writer.quiet:
                        out.append(f"{harmless(path)}: {fixed.count} {'fix' if fixed.count == 1 else 'fixes'} made")
        except ToolFailure as failure:
            return self.writer.failed(path, failure)
        if self.diff and program.module is not None:
            # Bytecode has no text to change.
            return [], "", EXIT_FINE, [0] * len(SEVERITIES)
        found, words, status, counts = self._findings(program, path, settings)
        return [*out, *found], words, status, counts

    def _findings(self, program: Program, path: str, settings: LintSettings) -> Outcome:
        if program.module is None:
            return self.writer.diagnostics(program, path, ("error",))
        out: list[str] = []
        counts = [0] * len(SEVERITIES)
        explained: set[str] = set()
        printed: PrintedLines | None = None
        scripts = None if program.launch is None else {path: read_bytes(path).decode("utf-8", "replace")}
        for finding in lint_module(program.module, settings, scripts):
            counts[SEVERITIES.index(finding.severity)] += 1
            rule = RULES[finding.rule]
            # Said once for each file: who reads ten findings of a rule knows by then.
            reasons = () if finding.rule in explained else _reasons(finding, rule)
            explained.add(finding.rule)
            if isinstance(finding.location, UnknownLocation) and finding.operation is not None:
                # Bytecode without locations.
                if printed is None:
                    from tileir.text.listing import printed_lines

                    printed = printed_lines(program.module)
                reasons = (*_shown_operation(finding.operation, printed), *reasons)
            out.append(self.writer.shown(finding.diagnostic(reasons), path, finding.rule))
        return out, "", EXIT_WRONG_INPUT if any(counts) and not self.exit_zero else EXIT_FINE, counts

    def _fixed(self, program: Program, path: str, settings: LintSettings) -> FixedText:
        if path == "-" and self.fix:
            raise ToolFailure("'--fix' changes files, and standard input is none: use '--diff'", EXIT_USAGE)
        name = STANDARD_INPUT if path == "-" else path

        def read(text: str) -> Operation | None:
            return program_in(text.encode("utf-8", "surrogateescape"), name, self.reading).module

        return fixed_text(program.text, read, settings)

    def _settings(self, path: str) -> LintSettings:
        try:
            if self.isolated:
                return self.given.settings(path)
            return options_for(path, self.given, self.configuration).settings(path)
        except OptionError as error:
            raise ToolFailure(error.message, EXIT_USAGE) from None


def _shown_operation(operation: Operation, printed: PrintedLines) -> tuple[str, ...]:
    line = printed.starts.get(operation)
    return () if line is None else (f"line {line + 1} of 'tileir dis': {printed.lines[line].strip()}",)


def _reasons(finding: LintFinding, rule: Rule) -> tuple[str, ...]:
    return rule.reason, f"help: {finding.remedy or rule.remedy}"


def _given_options(given: Arguments) -> LintOptions:
    words: dict[str, list[str]] = {}
    for name, value in given.sequence:
        if name in ("select", "extend-select", "ignore", "target"):
            words.setdefault(name, []).extend([word.strip() for word in value.split(",") if word.strip()])
    return LintOptions(
        words.get("select"),
        words.get("extend-select", []),
        words.get("ignore", []),
        words.get("target"),
        given.value("bytecode-version", "") or None,
    )


def write_text(path: str, text: str) -> None:
    try:
        with open(path, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise ToolFailure(f"cannot write '{path}': {reason(error)}", EXIT_USAGE) from None


def differences(before: str, after: str, path: str) -> Outcome:
    """What is different about two texts, as `diff -u` shows it."""
    import difflib

    name = STANDARD_INPUT if path == "-" else path
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, name)
    text = "".join([line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines])
    shown = [harmless(text.rstrip("\n"), "\n\t")] if text else []
    return shown, "", EXIT_WRONG_INPUT if text else EXIT_FINE, [0] * len(SEVERITIES)
