"""Which rules are on, and what programs are meant for: by options, and by the nearest pyproject.toml
(docs/tools/lint.md).

The command line goes first: its `--select` and `--target` replace those of the file, its `--ignore` adds to them.  What
names a rule more exactly decides: `--select all --ignore memory --select dead-store` has `dead-store` on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tileir.analyze.lint.rule import GROUPS, Rule
from tileir.analyze.lint.rules import RULES
from tileir.analyze.lint.subject import architecture_named
from tileir.annotations import Final
from tileir.ir.diagnostics import OptionError
from tileir.ir.quoting import close_names
from tileir.ir.versions import NEWEST, Version, version_named

ALL: Final = "all"
# How exactly a word names a rule.
_NOT, _ALL, _GROUP, _PREFIX, _NAME = range(5)


class LintSettings:
    """What to check programs for.

    `select` replaces the default rules, `extend_select` adds to them, `ignore` removes some.  `targets` are names of
    GPUs or architectures, `version` is the oldest version that a program has to work with.
    """

    def __init__(
        self,
        select: Sequence[str] | None = None,
        ignore: Sequence[str] = (),
        extend_select: Sequence[str] = (),
        targets: Sequence[str] = (),
        version: str = "",
    ) -> None:
        words = (*(select or ()), *extend_select)
        for word in (*words, *ignore):
            check_word(word)
        self.rules: list[Rule] = [rule for rule in RULES.values() if _is_on(rule, select is None, words, ignore)]
        for target in targets:
            architecture_named(target)
        self.targets: tuple[str, ...] = tuple(targets)
        self.version: Version = NEWEST if version == "" else version_named(version)


def _is_on(rule: Rule, by_default: bool, words: Sequence[str], ignore: Sequence[str]) -> bool:
    """Whether the options that name a rule most exactly select it."""
    selected = max([_exactness(word, rule) for word in words], default=_NOT)
    if by_default and rule.default:
        selected = max(selected, _ALL)
    refused = max([_exactness(word, rule) for word in ignore], default=_NOT)
    return selected > refused or (selected == _NAME and refused < _NAME)


def _exactness(word: str, rule: Rule) -> int:
    is_prefix = word.endswith("-") and rule.name.startswith(word)
    return {rule.name: _NAME, rule.group: _GROUP, ALL: _ALL}.get(word, _PREFIX if is_prefix else _NOT)


def check_word(word: object) -> None:
    """Raise the user's error if a word names no rule."""
    if not isinstance(word, str):
        raise TypeError(f"rules are named by strings, such as 'unused-value', not by {word!r}")
    if word not in (ALL, *GROUPS) and not any(_exactness(word, rule) for rule in RULES.values()):
        message, help = unknown_rule(word)
        raise OptionError(message, help=help)


def unknown_rule(word: str) -> tuple[str, str]:
    """The message about a word that names no rule, and the help."""
    close = close_names(word, [*RULES, *GROUPS])
    more = f"did you mean '{close[0]}'?" if close else "'tileir lint --list-rules' lists what there is"
    return f"there is no rule and no group '{word}'", more


FILE_NAME: Final = "pyproject.toml"
_LARGEST: Final = 1 << 22


@dataclass(slots=True)
class LintOptions:
    """The options of a command line or a file; None where one is not set."""

    select: Sequence[str] | None = None
    extend_select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    target: Sequence[str] | None = None
    bytecode_version: str | None = None
    per_file_ignores: Mapping[str, Sequence[str]] = field(default_factory=dict)
    folder: str = ""
    """What the patterns of files are relative to."""

    def over(self, below: LintOptions) -> LintOptions:
        """These options, on top of others."""
        return LintOptions(
            self.select if self.select is not None else below.select,
            [*below.extend_select, *self.extend_select],
            [*below.ignore, *self.ignore],
            self.target if self.target is not None else below.target,
            self.bytecode_version if self.bytecode_version is not None else below.bytecode_version,
            below.per_file_ignores,
            below.folder,
        )

    def settings(self, path: str) -> LintSettings:
        """The settings for a file."""
        version = self.bytecode_version or ""
        made = LintSettings(self.select, self.ignore, self.extend_select, self.target or (), version)
        if self.per_file_ignores and path != "-":
            relative = os.path.relpath(os.path.abspath(path), self.folder or ".").replace(os.sep, "/")
            for pattern, words in self.per_file_ignores.items():
                if fnmatchcase(relative, pattern) or fnmatchcase(os.path.basename(path), pattern):
                    made.rules = [rule for rule in made.rules if not any(_exactness(word, rule) for word in words)]
        return made


_KEYS: Final = [each.name.replace("_", "-") for each in fields(LintOptions) if each.name != "folder"]
_STRINGS: Final = "a list of strings"
_KINDS: Final[dict[str, tuple[type, str]]] = {
    "bytecode-version": (str, 'a string, such as "13.2"'),
    "per-file-ignores": (dict, "a table: pattern = [rules]"),
}


def options_for(path: str, given: LintOptions, configuration: str = "") -> LintOptions:
    """The options for a file: `given`, on top of those of its project (or of the file `configuration`)."""
    if configuration:
        return given.over(_read(configuration, True))
    folder = os.getcwd() if path == "-" else os.path.dirname(os.path.abspath(path))
    return given.over(_nearest(folder))


def forget() -> None:
    """Read files again: they may have changed in a process that stays."""
    _nearest.cache_clear()


# A folder has many programs.
@cache
def _nearest(folder: str) -> LintOptions:
    candidate, above = os.path.join(folder, FILE_NAME), os.path.dirname(folder)
    if os.path.isfile(candidate):
        return _read(candidate, False)
    return LintOptions() if above == folder else _nearest(above)


def _read(path: str, is_named: bool) -> LintOptions:
    """The options that a file states; `is_named` if the user named it."""
    try:
        with open(path, "rb") as file:
            # More than any project needs; a device would never end.
            data = file.read(_LARGEST)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise OptionError(f"cannot read '{path}': {why}") from None
    options = LintOptions(folder=os.path.dirname(os.path.abspath(path)))
    # Parse the file only if it mentions this tool.
    for key, value in _table(data, path).items() if is_named or b"tileir" in data else ():
        about = f"'{key}' in [tool.tileir.lint] of '{path}' is"
        if key not in _KEYS:
            raise OptionError(f"{about} none of {', '.join(_KEYS)}")
        kind, expected = _KINDS.get(key, (list, _STRINGS))
        if key == "target" and isinstance(value, str):
            value = [value]
        if not isinstance(value, kind):
            raise OptionError(f"{about} {expected}")
        lists: list[Any] = [value] if kind is list else [*value.values()] if isinstance(value, dict) else []
        if not all(isinstance(words, list) and all(isinstance(word, str) for word in words) for words in lists):
            raise OptionError(f"{about} {_STRINGS}")
        for word in [word for words in lists for word in words] if kind is dict else []:
            check_word(word)
        setattr(options, key.replace("-", "_"), value)
    return options


def _table(data: bytes, path: str) -> dict[str, Any]:
    """`[tool.tileir.lint]`; Python reads TOML since 3.11."""
    reader = next((name for name in ("tomllib", "tomli") if find_spec(name) is not None), None)
    if reader is None:
        if b"tool.tileir" not in data:
            return {}
        missing = f"'{path}' has settings for tileir, which Python 3.10 cannot read by itself"
        raise OptionError(f"{missing}: pip install tomli, or give --isolated")
    try:
        table = import_module(reader).loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise OptionError(f"'{path}' is not TOML: {error}") from None
    for part in ("tool", "tileir", "lint"):
        table = table.get(part, {}) if isinstance(table, dict) else {}
    return table if isinstance(table, dict) else {}
