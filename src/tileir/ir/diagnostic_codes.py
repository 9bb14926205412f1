"""Codes of diagnostics: stable names for what messages say, so that tools that act on a message do not match its words.

The messages mirror NVIDIA's word for word, and this table is the only place that reads them: a code stands for messages
with holes, whose contents are its values.  `Diagnostic.code` and `Diagnostic.values` ask here.  The first row that fits
counts; a message that no tool acts on has no code.
"""

from __future__ import annotations

import re

from tileir.annotations import Final

_CHOICES: Final = r"(?P<choices>[\w', ]+)"

CODES: Final[tuple[tuple[str, str], ...]] = (
    # names
    ("unknown-operation", r"custom op '(?P<name>[^']*)' is unknown"),
    ("unknown-operation", r"unregistered operation '(?P<name>cuda_tile\.[^']*)' found in dialect"),
    ("undeclared-value", r"use of undeclared SSA value name '(?P<name>[^']*)'"),
    ("undefined-alias", r"undefined symbol alias id '(?P<name>[^']*)'"),
    ("undefined-symbol", r"does not (?:reference|refer to) a valid|undefined symbol '"),
    ("redefined-value", r"redefinition of SSA value '(?P<name>[^']+)'"),
    # keywords
    ("unknown-keyword", r"one of the following enum values for attribute '\w+' \[(?P<choices>[^\]]*)\]"),
    ("unknown-keyword", r"to be one of: \{(?P<choices>[^}]*)\}"),
    ("wrong-keyword", rf"Got \"(?P<got>\w+)\" but expect one of: {_CHOICES}"),
    ("wrong-keyword", rf"unknown atomic RMW mode: '(?P<got>\w+)'; expected one of: {_CHOICES}"),
    ("wrong-keyword", rf"one of: {_CHOICES}, (?:but )?got: '?(?P<got>\w+)'?$"),
    ("unknown-keyword", r"to be one of: (?P<choices>[\w, ]+)$"),
    ("unknown-predicate", rf"expected an assume predicate: {_CHOICES}"),
    ("missing-scope", r"memory scope is required for (?P<ordering>\w+) "),
    ("unwanted-scope", r"expected no memory scope|must not have memory scope"),
    # tokens
    ("missing-types", r"^(?:custom op '[^']*' )?expected '(?P<token>:)'$"),
    ("expected-token", r"^(?:custom op '[^']*' )?expected '(?P<token>[^']+)'$"),
    ("unclosed-string", "expected '\"' in string literal"),
    ("unwanted-token", r"unbalanced '}'|clause can appear at most once"),
    ("integer-for-float", r"unexpected decimal integer literal for a floating point value"),
    # results and terminators
    ("result-count", r"operation defines (?P<defined>\d+) results but was provided (?P<bound>\d+) to bind"),
    ("no-results", r"cannot name an operation with no results"),
    ("missing-terminator", r"block with no terminator|expects a non-empty block|empty block"),
    ("misplaced-terminator", r"'cuda_tile\.(?:yield|continue|break|return)' op expects parent op"),
    # types
    ("unknown-type", r"unknown +type:? `?(?P<name>[\w<>.]+)"),
    ("wrong-element-type", r"failed to verify '(?:elementType|pointeeType)'"),
    (
        "type-of-use",
        r"expects different type than prior uses: '(?P<written>[^']+)' vs '(?P<expected>[^']+)'",
    ),
    (
        "type-of-result",
        r"inferred type\(s\) '(?P<expected>[^']+)' are incompatible with return type\(s\) of operation "
        r"'(?P<written>[^']+)'",
    ),
    (
        "type-of-constant",
        r"mismatch between the element type: '(?P<written>[^']+)' and the tile element type '(?P<expected>[^']+)'",
    ),
)
_patterns: Final[list[tuple[str, re.Pattern[str]]]] = []


def coded(message: str) -> tuple[str, dict[str, str]]:
    """The code of a message, empty for one that has none, and its values."""
    if not _patterns:
        _patterns.extend([(code, re.compile(pattern)) for code, pattern in CODES])
    for code, pattern in _patterns:
        found = pattern.search(message)
        if found is not None:
            return code, {name: text for name, text in found.groupdict().items() if text is not None}
    return "", {}
