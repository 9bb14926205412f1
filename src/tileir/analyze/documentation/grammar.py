"""The `syntax` of a declaration as a line a person reads.

    addf %lhs, %rhs (rounding<ROUNDING_MODE>)? flush_to_zero? : type(%result)

`LEGEND` explains the notation.  The dictionary of further attributes, which every operation takes, is not shown.
"""

from __future__ import annotations

import re

from tileir.annotations import Final
from tileir.dialect.enums import enum_kind_of
from tileir.dialect.ops import MODULE
from tileir.ir.attributes import FIRST_DRAFT_ONLY_VALUE
from tileir.ir.declaration import VARIADIC, AttributeDeclaration, OperationDeclaration
from tileir.ir.versions import NEWEST, Version
from tileir.text.syntax.format import CALLED, LITERAL, VARIABLE, WORD, elements_of

LEGEND: Final[tuple[tuple[str, str], ...]] = (
    ("`%x`", "a value"),
    ("`type(%x)`", "the type of a value"),
    ("`NAME`", "an attribute, or another part that the page describes"),
    ("`x?` `(x y)?`", "may be left out"),
    ("`(x | y)`", "one of these"),
    ("`x, ...`", "a list, separated by commas"),
    ("`{ body }`", "a region: operations in braces"),
)
FURTHER_ATTRIBUTES: Final = (
    "Each operation also takes a dictionary of further attributes, `{name = value}`, as a rule before its colon."
)

# An enumeration of so many keywords or fewer is written out in the line.
FEW: Final = 2
_NO_BLANK_BEFORE: Final = frozenset([",", "]", ">", ")", "["])
_NO_BLANK_AFTER: Final = frozenset(["[", "<", "("])
_GLUE: Final = "~"
_SINGLE_WORD: Final = re.compile(r"[@%]?\w+")
_CHOICE: Final = re.compile(r"\([^()]*\)")

# What each custom directive reads; of some the operation decides.  A directive that is not here reads nothing.
_FORMS: Final[dict[str, str]] = {
    "combine": ": type(%operands), ... -> type(%results), ... (%element: TYPE, %accumulator: TYPE, ...) { body }",
    "atomic-operands": "%pointers, MODE, %arg",
    "atomic_red_view_tko": (
        "MEMORY_ORDERING_SEMANTICS MEMORY_SCOPE %view[%index, ...], MODE, %value (token = %token)? "
        "(inbounds = INBOUNDS)? (attributes {NAME = VALUE, ...})? : type(%value), type(%view), type(%index), ... -> "
        "type(%result_token)"
    ),
    "load_view_tko": (
        "MEMORY_ORDERING_SEMANTICS MEMORY_SCOPE? %view[%index, ...] (token = %token)? (optimization_hints = "
        "<OPTIMIZATION_HINTS>)? (inbounds = INBOUNDS)? (attributes {NAME = VALUE, ...})? : type(%view), "
        "type(%index), ... -> type(%tile), type(%result_token)"
    ),
    "multimem_load_reduce_view_tko": (
        "MEMORY_ORDERING_SEMANTICS MEMORY_SCOPE? %view[%index, ...], REDUCTION (token = %token)? "
        "(inbounds = INBOUNDS)? (attributes {NAME = VALUE, ...})? : type(%view), type(%index), ... -> "
        "type(%tile), type(%result_token)"
    ),
    "multimem_reduce_view_tko": (
        "MEMORY_ORDERING_SEMANTICS MEMORY_SCOPE %view[%index, ...], REDUCTION, %tile (token = %token)? "
        "(inbounds = INBOUNDS)? (attributes {NAME = VALUE, ...})? : type(%tile), type(%view), type(%index), ... -> "
        "type(%result_token)"
    ),
    "multimem_store_view_tko": (
        "MEMORY_ORDERING_SEMANTICS MEMORY_SCOPE? %tile, %view[%index, ...] (token = %token)? "
        "(inbounds = INBOUNDS)? (attributes {NAME = VALUE, ...})? : type(%tile), type(%view), type(%index), ... -> "
        "type(%result_token)"
    ),
    "store_view_tko": (
        "MEMORY_ORDERING_SEMANTICS MEMORY_SCOPE? %tile, %view[%index, ...] (token = %token)? "
        "(optimization_hints = <OPTIMIZATION_HINTS>)? (inbounds = INBOUNDS)? (attributes {NAME = VALUE, "
        "...})? : type(%tile), type(%view), type(%index), ... -> type(%result_token)"
    ),
    "for": (
        "unsigned? %index in (%lowerBound to %upperBound, step %step) : type(%lowerBound) "
        "(iter_values(%carried = %initValues, ...) -> (type(%resultValues), ...))? { region }"
    ),
    "if": "%condition (-> (type(%results), ...))? { thenRegion } (else { elseRegion })?",
    "loop": (
        "(iter_values(%carried = %initValues, ...))? (: type(%initValues), ... (-> type(%resultValues), "
        "...)? | : type(%resultValues), ...)? { region }"
    ),
    "dense-constant": "<ELEMENT: VALUE> : type(%result)",
    "comparison-types": ": type(%lhs) -> type(%result)",
    "assume": "PREDICATE, %value : type(%value)",
    "print-arguments": "STR (, %args, ...)? (token=%token)? (: type(%args), ...)? -> type(%result_token)",
    "cast-types": ": type(%inputs), ... to type(%outputs), ...",
    "module": "@SYM_NAME (attributes {producer = PRODUCER, ...})? { body }",
    "function": (
        "@SYM_NAME(%argument: TYPE, ...) (optimization_hints=<OPTIMIZATION_HINTS>)? { body } ({NAME = VALUE, ...})?"
    ),
    "global": "(public | private)? constant? @SYM_NAME (alignment = ALIGNMENT)? <ELEMENT: VALUE> : TYPE",
    "grid-type": ": tile<i32>",
    "module-wrapper": "@SYM_NAME? (attributes {NAME = VALUE, ...})? { bodyRegion }",
    "shape-query": "%src : type(%src) -> type(%result)",
    "make-view": ": type(%result)",
    "tensor-view": (
        "%base, shape = [(INTEGER | %dynamicShape), ...], strides = [(INTEGER | %dynamicStrides), ...] : "
        "(tile<INTEGER_TYPE> ->)? type(%result)"
    ),
}


def grammar(declaration: OperationDeclaration) -> str:
    """The whole statement, results included."""
    if not declaration.syntax:
        return _generic(declaration)
    return results_form(declaration) + spelled(declaration) + " " + body(declaration)


def _generic(declaration: OperationDeclaration) -> str:
    """The statement of an operation that text has in MLIR's generic form only."""
    operands = ", ".join([_variable(declaration, each.name) for each in declaration.operands])
    inputs, outputs = [
        ", ".join([_called(declaration, "type", f"${each.name}") for each in group])
        for group in (declaration.operands, declaration.results)
    ]
    attributes = [
        f"(, {each.name} = {each.name.upper()})?" if each.optional else f"{each.name} = {_attribute(each)}"
        for each in declaration.attributes
    ]
    shown = ", ".join(attributes).replace(", (,", " (,")
    return f'{results_form(declaration)}"{declaration.name}"({operands}) <{{{shown}}}> : ({inputs}) -> ({outputs})'


def spelled(declaration: OperationDeclaration, version: Version = NEWEST) -> str:
    """The name as a statement begins with it."""
    plain = not declaration.is_builtin and declaration is not MODULE
    return declaration.spelled_name(version) if plain else declaration.name


def results_form(declaration: OperationDeclaration) -> str:
    """`%result, %result_token = `, or nothing; a list of results may be empty."""
    if len(declaration.results) == 1 and declaration.results[0].count == VARIADIC:
        return f"(%{declaration.results[0].name}, ... =)? "
    names = [f"%{r.name}" for r in declaration.results]
    return f"{', '.join(names)} = " if names else ""


def body(declaration: OperationDeclaration) -> str:
    """What follows the name of the operation."""
    # The tokens of the line, and of each optional group that is still open.
    lines: list[list[str]] = [[]]
    for element in elements_of(declaration.syntax):
        if element.kind == LITERAL or element.text == _GLUE:
            lines[-1].append(element.text)
        elif element.kind == VARIABLE:
            lines[-1].append(_variable(declaration, element.text))
        elif element.kind == CALLED:
            lines[-1].append(_called(declaration, element.text, element.arguments))
        elif element.kind == WORD:
            lines[-1].append(word_form(declaration, element.text))
        elif element.text == "(":
            lines.append([])
        elif element.text == ")?":
            inner = _joined(lines.pop())
            is_whole = _SINGLE_WORD.fullmatch(inner) or _CHOICE.fullmatch(inner)
            lines[-1].append(f"{inner}?" if is_whole else f"({inner})?")
    return _joined(lines[0])


def _joined(tokens: list[str]) -> str:
    """Tokens with blanks between them, except around punctuation and glue."""
    text, is_glued = "", True
    for token in tokens:
        if token == _GLUE:
            is_glued = True
        elif token:
            text += token if is_glued or token in _NO_BLANK_BEFORE else f" {token}"
            is_glued = token in _NO_BLANK_AFTER
    return text


def _variable(declaration: OperationDeclaration, name: str) -> str:
    for declared in declaration.operands:
        if declared.name == name:
            return f"%{name}, ..." if declared.count == VARIADIC else f"%{name}"
    return _attribute(declaration.inherent[name])


def _attribute(declared: AttributeDeclaration) -> str:
    kind = enum_kind_of(declared)
    if kind is not None and len(kind.values) <= FEW:
        return f"({' | '.join(sorted(kind.values))})"
    prefix = "@" if declared.constraint.kind in ("symbol", "symbol_name") else ""
    return prefix + declared.name.upper()


def _called(declaration: OperationDeclaration, word: str, arguments: str) -> str:
    names = arguments.replace(",", " ").split()
    if word == "type":
        name = names[0][1:]
        declared = next(each for each in (*declaration.operands, *declaration.results) if each.name == name)
        return f"type(%{name}), ..." if declared.count == VARIADIC else f"type(%{name})"
    if word in ("flag", "flags"):
        return " ".join([f"{name}?" for name in names])
    if word in ("rounding", "open-rounding"):
        return f"(rounding<{names[0].upper()}>)?"
    if word == "enclosed":
        return f"({names[0]}<{names[0].upper()}>)?"
    if word == "keyword":
        return _attribute(declaration.inherent[names[0]])
    raise KeyError(word)


def word_form(declaration: OperationDeclaration, word: str) -> str:
    """What a directive reads, in the notation of the line."""
    if word == "attr-dict":
        return ""
    if word == "hints":
        return "(optimization_hints = <OPTIMIZATION_HINTS>)?"
    return _FORMS.get(declaration.mnemonic if word == "view-access" else word, "")


def allowed_keywords(declaration: OperationDeclaration, declared: AttributeDeclaration) -> list[str] | None:
    """The keywords an enumeration attribute may have in this operation, if its syntax lists them.

    Those of the drafts alone are left out: no public program has them.
    """
    kind = enum_kind_of(declared)
    if kind is None:
        return None
    for element in elements_of(declaration.syntax):
        name, *keywords = element.arguments.replace(",", " ").split() or [""]
        if element.text in ("rounding", "open-rounding") and name == declared.name:
            return keywords
    public = [keyword for keyword, value in kind.values.items() if value < FIRST_DRAFT_ONLY_VALUE]
    return public or list(kind.values)


def legal_keywords(declaration: OperationDeclaration, declared: AttributeDeclaration, version: Version) -> list[str]:
    """The keywords that are right in a program of a version: where the documentation is a list of them, those."""
    kind = enum_kind_of(declared)
    if kind is None:
        return []
    allowed = allowed_keywords(declaration, declared) or []
    listed = set(re.findall(r"\w+", declared.documentation)) - {"or"}
    if listed and listed <= kind.values.keys():
        allowed = [word for word in allowed if word in listed]
    return [word for word in allowed if kind.since.get(word, version) <= version]
