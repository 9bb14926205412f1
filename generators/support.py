"""Which parts of the toolkit know each operation: docs/reference/support.md, and what its test checks.

A part knows the operations in its table.  Which ones it should know follows from the declarations, so that a new
operation is a gap until it is in the table of the part, or beside the table with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from generators import NOTE
from tileir.bytecode.records import records_of
from tileir.dialect.inference import GIVEN_TYPE, GIVEN_TYPES, inference_of, is_declared
from tileir.dialect.ops import ASSUME, ASSUME_COND, ENTRY, FOR, GLOBAL, MODULE
from tileir.dialect.types import pointer_type, scalar_tile, tile_type
from tileir.ir.declaration import OperandDeclaration, OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import (
    ELEMENTWISE,
    NO_MEMORY_EFFECT,
    PURE,
    REGION_EFFECTS,
    SIDE_EFFECT,
    SYMBOL,
    SYMBOL_TABLE,
    TERMINATOR,
    TOKEN_ORDERED,
)
from tileir.ir.types import F32, F64, I1, I8, I16, I32, I64, Type
from tileir.ir.versions import NEWEST, V13_1, version_text
from tileir.passes import downlevel, legalize
from tileir.passes.canonicalize import canonicalization_patterns
from tileir.passes.expansions import EXPANSIONS
from tileir.rewrite.fact_rules import RULES
from tileir.rewrite.folds import canonicalization_folds
from tileir.rewrite.simplifier_rules import OPERATORS

Predicate: TypeAlias = Callable[[OperationDeclaration], bool]

_INTEGERS: Final = [make(e) for e in (I1, I8, I16, I32, I64) for make in (scalar_tile, lambda e: tile_type((8,), e))]
_POINTERS: Final = [scalar_tile(pointer_type(F32)), tile_type((8,), pointer_type(F32))]
_FLOATS: Final = [make(e) for e in (F32, F64) for make in (scalar_tile, lambda e: tile_type((8,), e))]
_EFFECTS: Final = PURE | NO_MEMORY_EFFECT | REGION_EFFECTS | TOKEN_ORDERED | SIDE_EFFECT | TERMINATOR


class Part(NamedTuple):
    """An engine or an analysis: which operations it should know, and which it knows.

    `left_out` has the operations it does not know on purpose, each with the reason.
    """

    name: str
    meaning: str
    concerns: Predicate
    knows: Predicate
    left_out: Mapping[OperationDeclaration, str] = {}

    def gaps(self) -> list[str]:
        """The operations it should know, does not know and gives no reason for."""
        return [
            each.mnemonic
            for each in operations()
            if self.concerns(each) and not self.knows(each) and each not in self.left_out
        ]

    def mistakes(self) -> list[str]:
        """The operations it gives a needless reason for, or knows though they do not concern it."""
        return [
            each.mnemonic
            for each in operations()
            if (each in self.left_out and (self.knows(each) or not self.concerns(each)))
            or (self.knows(each) and not self.concerns(each))
        ]


def operations() -> list[OperationDeclaration]:
    """Those of the dialect, in the order of their names."""
    found = [each for each in REGISTRY.declarations() if not each.is_builtin and not each.testing]
    return sorted(found, key=lambda each: each.mnemonic)


# --- which operations concern a part ---


def is_executed(declaration: OperationDeclaration) -> bool:
    """Whether it stands in a kernel: modules, kernels and variables do not."""
    return not declaration.traits & (SYMBOL | SYMBOL_TABLE)


def _accepts(declared: Collection[OperandDeclaration], types: Sequence[Type]) -> bool:
    return any(each.constraint.accepts(type) for each in declared for type in types)


def gives_integers(declaration: OperationDeclaration) -> bool:
    return _accepts(declaration.results, [*_INTEGERS, *_POINTERS])


def gives_floats(declaration: OperationDeclaration) -> bool:
    return _accepts(declaration.results, _FLOATS)


def is_integer_arithmetic(declaration: OperationDeclaration) -> bool:
    return bool(declaration.traits & ELEMENTWISE) and gives_integers(declaration)


def finds_types(declaration: OperationDeclaration) -> bool:
    """Whether the builder finds the types of all results."""
    inference = inference_of(declaration)
    if inference is GIVEN_TYPE or inference is GIVEN_TYPES:
        return False
    # A rule of its own, or results that need none.
    return inference.rule is not None or all(is_declared(declaration, result) for result in declaration.results)


def is_newer(declaration: OperationDeclaration) -> bool:
    return declaration.since is not None and declaration.since > V13_1


def _has_facts(declaration: OperationDeclaration) -> bool:
    return declaration in RULES or declaration.is_control_flow


def _part(name: str, meaning: str, concerns: Predicate, knows: Predicate, reason: str) -> Part:
    """A part that gives one reason for all operations it does not know."""
    left_out = {each: reason for each in operations() if concerns(each) and not knows(each)}
    return Part(name, meaning, concerns, knows, left_out)


# --- the parts ---


def parts() -> list[Part]:
    """All of them; the engines are there only where NumPy is."""
    from tileir.execute.cpu.lowering.table import HANDLERS
    from tileir.execute.errors import why_not_executed, why_not_on_gpu
    from tileir.execute.gpu.triton.lowering.lower import HANDLERS as LOWERED
    from tileir.execute.interpreter.kernel import OPERATIONS
    from tileir.execute.sanitizer.integer_checks import CHECKS, DEFINED
    from tileir.execute.sanitizer.number_watch import HANDS_ON, MEANT

    rewritten = {fold.root for fold in canonicalization_folds(full=True)}
    for pattern in canonicalization_patterns():
        rewritten.update(pattern.roots)
    legalized = {*EXPANSIONS, *legalize.REPLACEMENTS, *legalize.RESOLVED}
    recorded = {record.declaration for record in records_of(NEWEST).values()} | {MODULE, ENTRY, GLOBAL}
    inside = {each: "its results come from its regions" for each in operations() if each.regions and gives_floats(each)}
    handed_on = dict.fromkeys(filter(gives_floats, HANDS_ON), "its results are elements of its operands")
    given = {each: "the caller states its type" for each in operations() if each.inference in (GIVEN_TYPE, GIVEN_TYPES)}
    not_executed = {each: why_not_executed(each) for each in operations() if why_not_executed(each)}
    not_on_gpu = {each: why_not_on_gpu(each) for each in operations() if why_not_on_gpu(each)}
    return [
        Part("bytecode", "has a record in bytecode", lambda d: not d.draft_only, recorded.__contains__),
        Part(
            "builder",
            "the builder infers the types of its results",
            lambda d: bool(d.results),
            lambda d: bool(d.results) and finds_types(d),
            given,
        ),
        Part("interpreter", "runs in the interpreter", is_executed, OPERATIONS.__contains__, not_executed),
        Part("CPU backend", "is compiled by the CPU backend", is_executed, HANDLERS.__contains__, not_executed),
        Part(
            "Triton backend",
            "is compiled by the Triton backend, after legalizing",
            is_executed,
            # Control flow is lowered with what ends it.
            lambda d: d in LOWERED or d.is_terminator or d in legalized,
            not_on_gpu,
        ),
        Part(
            "effects",
            "its effects on memory and on ordering are declared",
            is_executed,
            lambda d: bool(d.traits & _EFFECTS) or d.accesses_memory,
            # As in NVIDIA's dialect, they declare none, and so are never dead.
            dict.fromkeys((ASSUME, ASSUME_COND), "its promise holds only where it stands, so it is never removed"),
        ),
        Part(
            "accesses",
            "reads or writes memory: the sanitizer checks bounds, order, races and coverage",
            lambda d: d.accesses_memory,
            lambda d: d.accesses_memory,
        ),
        Part(
            "undefined numbers",
            "the sanitizer reports operands for which its result is undefined",
            lambda d: is_integer_arithmetic(d) or d is FOR,
            CHECKS.__contains__,
            DEFINED,
        ),
        Part(
            "number watch",
            "is watched for NaNs and infinities that it produces",
            gives_floats,
            lambda d: gives_floats(d) and not d.regions and d not in HANDS_ON and d not in MEANT,
            {**inside, **handed_on, **dict.fromkeys(MEANT, "a program that writes such a number means it")},
        ),
        _part(
            "facts",
            "ranges and divisors of its results are known",
            gives_integers,
            _has_facts,
            "it has no rule: only the type of its result is known",
        ),
        _part(
            "simplifier",
            "integer expressions that contain it are simplified",
            is_integer_arithmetic,
            OPERATORS.__contains__,
            "it has no rule",
        ),
        Part(
            "folds",
            "folds and patterns of the canonicalizer rewrite it",
            rewritten.__contains__,
            rewritten.__contains__,
        ),
        Part(
            "legalize",
            "only the drafts have it: the legalizer expresses it by other operations",
            lambda d: d.draft_only,
            legalized.__contains__,
        ),
        _part(
            "downlevel",
            "newer than 13.1, and can be expressed in an older version",
            is_newer,
            downlevel.REPLACED.__contains__,
            "older versions have no equivalent",
        ),
    ]


# --- the page ---

_YES: Final = "✓"
_NO: Final = "-"

_HEAD: Final = f"""\
# Support for each operation

{NOTE}

A part of tileir, such as a backend or an analysis, concerns some operations and handles them, or states a reason why
not. Parts that handle every operation they concern, all backends among them, are only in the first table; the second
has a column for each other part: a check mark if it handles the operation, a dash if it does not, for a
[reason](#reasons) below, and an empty cell if the operation does not concern it.

"""


def support() -> str:
    known = parts()
    lines = ["| part | what handling an operation means | operations |", "|---|---|---|"]
    for part in known:
        concerned = [each for each in operations() if part.concerns(each)]
        handled = [each for each in concerned if part.knows(each)]
        count = f"all {len(handled)}" if handled == concerned else f"{len(handled)} of {len(concerned)}"
        lines.append(f"| {part.name} | {part.meaning} | {count} |")
    # What rewrites an operation concerns it: that is no gap, and still worth a column.
    shown = [part for part in known if part.left_out or part.name == "folds"]
    lines += ["", f"| operation | since | {' | '.join([part.name for part in shown])} |"]
    lines += ["|---|---|" + ":-:|" * len(shown)]
    for declaration in operations():
        since = "drafts" if declaration.since is None else version_text(declaration.since)
        marks = [_YES if part.knows(declaration) else _NO if part.concerns(declaration) else "" for part in shown]
        lines.append(f"| `{declaration.mnemonic}` | {since} | {' | '.join(marks)} |")
    lines += ["", "## Reasons", ""]
    for part in shown:
        by_reason: dict[str, list[str]] = {}
        for declaration in operations():
            reason = part.left_out.get(declaration)
            if reason is not None:
                by_reason.setdefault(reason, []).append(f"`{declaration.mnemonic}`")
        for reason, names in by_reason.items():
            lines.append(f"- {part.name}, {' '.join(names)}: {reason}")
    return _HEAD + "\n".join(lines) + "\n"
