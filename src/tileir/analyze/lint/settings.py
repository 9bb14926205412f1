"""Which rules are on, and what programs are meant for.

A rule is named by itself (`dead-store`), by its group (`memory`), by the beginning of names (`unused-`), or is one of
`all`.  What names a rule more exactly decides: `--select all --ignore memory --select dead-store` has `dead-store` on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tileir.analyze.lint.rule import GROUPS, Rule
from tileir.analyze.lint.rules import RULES
from tileir.analyze.lint.targets import architecture_named
from tileir.annotations import Final
from tileir.ir.diagnostics import OptionError
from tileir.ir.versions import NEWEST, Version, version_named

ALL: Final = "all"
# How exactly a word names a rule.
_NOT, _ALL, _GROUP, _PREFIX, _NAME = range(5)


class LintSettings:
    """What programs are looked at for.

    `select` replaces the rules that are on unless nobody says otherwise, `extend_select` adds to them, `ignore` takes
    away.  `targets` are names of GPUs or architectures, `version` the oldest version that a program has to work with.
    """

    def __init__(
        self,
        select: Sequence[str] | None = None,
        ignore: Sequence[str] = (),
        extend_select: Sequence[str] = (),
        targets: Sequence[str] = (),
        version: str = "",
    ) -> None:
        for words in (select or (), ignore, extend_select):
            for word in words:
                check_word(word)
        self.rules: list[Rule] = [rule for rule in RULES.values() if _is_on(rule, select, ignore, extend_select)]
        for target in targets:
            architecture_named(target)
        self.targets: tuple[str, ...] = tuple(targets)
        self.version: Version = NEWEST if version == "" else version_named(version)

    def without(self, words: Iterable[str]) -> LintSettings:
        """These settings without the rules of some words, which come from a file's own line in the configuration."""
        words = list(words)
        fewer = LintSettings()
        fewer.rules = [rule for rule in self.rules if not any(_exactness(word, rule) for word in words)]
        fewer.targets, fewer.version = self.targets, self.version
        return fewer


def _is_on(rule: Rule, select: Sequence[str] | None, ignore: Sequence[str], extend_select: Sequence[str]) -> bool:
    wanted = max([_exactness(word, rule) for word in (*(select or ()), *extend_select)], default=_NOT)
    if select is None and rule.default:
        wanted = max(wanted, _ALL)
    refused = max([_exactness(word, rule) for word in ignore], default=_NOT)
    return wanted > refused or (wanted == _NAME and refused < _NAME)


def _exactness(word: str, rule: Rule) -> int:
    if word == rule.name:
        return _NAME
    if word == rule.group:
        return _GROUP
    if word == ALL:
        return _ALL
    return _PREFIX if word.endswith("-") and rule.name.startswith(word) else _NOT


def check_word(word: object) -> None:
    """A word that names no rule is a mistake of the user's."""
    if not isinstance(word, str):
        raise TypeError(f"rules are named by strings, such as 'unused-value', not by {word!r}")
    if word == ALL or word in GROUPS or any(_exactness(word, rule) for rule in RULES.values()):
        return
    raise OptionError(unknown_rule(word))


def unknown_rule(word: str) -> str:
    """What to say about a word that names no rule."""
    import difflib

    close = difflib.get_close_matches(word, [*RULES, *GROUPS], 1, 0.6)
    more = f"did you mean '{close[0]}'?" if close else "'tileir lint --list-rules' lists what there is"
    return f"there is no rule and no group '{word}': {more}"
