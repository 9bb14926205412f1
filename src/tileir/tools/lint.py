"""`tileir lint`: advice about programs that are correct."""

from __future__ import annotations

import sys

from tileir.analyze.lint.configuration import LintOptions, options_for
from tileir.analyze.lint.linting import lint_module
from tileir.analyze.lint.rule import GROUPS, LintFinding, Rule
from tileir.analyze.lint.rules import RULES
from tileir.analyze.lint.settings import LintSettings, unknown_rule
from tileir.ir.declaration import VERSION_NAMES
from tileir.ir.diagnostics import OptionError
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_USAGE, EXIT_WRONG_INPUT, Arguments, Option, Usage
from tileir.tools.programs import READING_OPTIONS, Settings, ToolFailure, guarded, read_program
from tileir.tools.reporting import FILES, JOBS, REPORTING_OPTIONS, SEVERITIES, Outcome, Writer, report_files

USAGE = Usage(
    "tileir lint",
    "Reads Tile IR programs and gives advice: what is useless, slow, not portable, or a mistake in all likelihood.",
    "FILE...",
    (
        Option("select", "the rules to look for, instead of those that are on by default", value="RULES"),
        Option("extend-select", "rules to look for as well", value="RULES"),
        Option("ignore", "rules not to look for", value="RULES"),
        Option(
            "target", "GPUs that the programs are for, such as h100 or sm_90, for rules about hardware", value="NAMES"
        ),
        Option("bytecode-version", "the oldest version that the programs have to work with", choices=VERSION_NAMES),
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
    from tileir.analyze.documentation.rule_pages import rule_page
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
        self.exit_zero: bool = given.has("exit-zero")
        self.isolated: bool = given.has("isolated")
        self.configuration: str = given.value("config", "")
        self.given: LintOptions = _given_options(given)
        # So that a mistake of the command line is said once, before any file is read.
        self._settings("-")

    def outcome(self, path: str) -> Outcome:
        try:
            settings = self._settings(path)
            program = read_program(path, self.reading)
        except ToolFailure as failure:
            return self.writer.failed(path, failure)
        if program.module is None:
            return self.writer.diagnostics(program, path, ("error",))
        counts = [0] * len(SEVERITIES)
        out: list[str] = []
        explained: set[str] = set()
        for finding in lint_module(program.module, settings):
            counts[SEVERITIES.index(finding.severity)] += 1
            rule = RULES[finding.rule]
            # Said once for each file: who reads ten findings of a rule knows by then.
            reasons = () if finding.rule in explained else _reasons(finding, rule)
            explained.add(finding.rule)
            out.append(self.writer.shown(finding.diagnostic(reasons), path, finding.rule))
        return out, "", EXIT_WRONG_INPUT if any(counts) and not self.exit_zero else EXIT_FINE, counts

    def _settings(self, path: str) -> LintSettings:
        try:
            if self.isolated:
                return self.given.settings(path)
            return options_for(path, self.given, self.configuration).settings(path)
        except OptionError as error:
            raise ToolFailure(error.message, EXIT_USAGE) from None


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
