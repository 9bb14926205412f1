"""What the toolkit knows about an operation, in one place.

The parser, the printer, the verifier, the bytecode layouts, the builder and the documentation all read the same
declaration (one per operation, in `dialect/ops/`, one file per chapter of the operations draft).
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Callable, Final
from tileir.ir.attributes import Attribute
from tileir.ir.diagnostics import VersionError
from tileir.ir.interning import forget_with
from tileir.ir.traits import ADDITION_COST, ElementCost
from tileir.ir.type_rules import TypeRule, same_type
from tileir.ir.types import Type

# Traits are also known as names of this module.
# isort: off
# fmt: off
from tileir.ir.traits import (
    ALLOCATION_SCOPE as ALLOCATION_SCOPE, ATOMIC as ATOMIC, BLOCK_ORDER as BLOCK_ORDER,
    CONSTANT_LIKE as CONSTANT_LIKE, ELEMENTWISE as ELEMENTWISE, GRAPH_REGION as GRAPH_REGION, ISOLATED as ISOLATED,
    NO_MEMORY_EFFECT as NO_MEMORY_EFFECT, NO_TERMINATOR as NO_TERMINATOR, OPEN_BITS as OPEN_BITS, PURE as PURE,
    REGION_EFFECTS as REGION_EFFECTS, SEGMENTS as SEGMENTS, SIDE_EFFECT as SIDE_EFFECT,
    SINGLE_BLOCK as SINGLE_BLOCK, SURROUNDINGS as SURROUNDINGS, SYMBOL as SYMBOL, SYMBOL_TABLE as SYMBOL_TABLE,
    TERMINATOR as TERMINATOR, TOKEN_ORDERED as TOKEN_ORDERED,
)
# fmt: on
# isort: on

if TYPE_CHECKING:
    from tileir.ir.core import Operation
    from tileir.ir.verifier import VerifyContext  # noqa: F401  (in a text below)

Version = tuple[int, int]
Verifier = Callable[["Operation", "VerifyContext"], None]

V13_1: Final[Version] = (13, 1)
V13_2: Final[Version] = (13, 2)
V13_3: Final[Version] = (13, 3)
V13_4: Final[Version] = (13, 4)
NEWEST: Final[Version] = V13_4
VERSIONS: Final[tuple[Version, ...]] = (V13_1, V13_2, V13_3, V13_4)


def version_text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


VERSION_NAMES: Final[tuple[str, ...]] = tuple([version_text(version) for version in VERSIONS])
NEWEST_NAME: Final[str] = version_text(NEWEST)


def version_named(name: object) -> Version:
    """The version of the dialect that a text such as "13.2" names: every version a user gives is read here."""
    if not isinstance(name, str):
        raise TypeError(f"a version is a text, such as '{NEWEST_NAME}', not {name!r}")
    for version in VERSIONS:
        if name == version_text(version):
            return version
    raise VersionError(f"'{name}' is not a version of the dialect: {', '.join(VERSION_NAMES)}")


# How many operands or results a declared name stands for.
ONE: Final = 0
OPTIONAL: Final = 1
VARIADIC: Final = 2

# Every constraint, of which there are as many as the dialect declares.
_CONSTRAINTS: Final[list[TypeConstraint]] = []


class TypeConstraint:
    """A set of types with the words diagnostics use for it (`tile of i1 values`); answers are remembered per type.

    `wording` may depend on the dialect version (13.4 added an element type to some lists).
    """

    __slots__ = ("accepted", "description", "newer_description", "predicate")

    def __init__(
        self, description: str, predicate: Callable[[Type], bool], newer_description: str | None = None
    ) -> None:
        self.description: str = description
        self.newer_description: str | None = newer_description
        self.predicate: Callable[[Type], bool] = predicate
        self.accepted: dict[Type, bool] = {}
        _CONSTRAINTS.append(self)

    def accepts(self, type: Type) -> bool:
        found = self.accepted.get(type)
        if found is None:
            found = self.accepted[type] = self.predicate(type)
        return found

    def wording(self, version: Version) -> str:
        if self.newer_description is not None and version >= V13_4:
            return self.newer_description
        return self.description


class AttributeConstraint:
    """A set of attributes, the words for it, and the name of the way it is written in custom syntax."""

    __slots__ = ("description", "kind", "predicate")

    def __init__(self, description: str, predicate: Callable[[Attribute], bool], kind: str) -> None:
        self.description: str = description
        self.predicate: Callable[[Attribute], bool] = predicate
        self.kind: str = kind


class OperandDeclaration:
    """An operand: its name, the types it takes, how many values it stands for, the version that brought it."""

    __slots__ = ("constraint", "count", "documentation", "name", "since")

    def __init__(
        self, name: str, constraint: TypeConstraint, count: int, documentation: str, since: Version | None
    ) -> None:
        self.name: str = name
        self.constraint: TypeConstraint = constraint
        self.count: int = count
        self.documentation: str = documentation
        self.since: Version | None = since

    @property
    def is_one(self) -> bool:
        """Whether it stands for one value, never for none or several."""
        return self.count == ONE


class AttributeDeclaration:
    """An inherent attribute.  With a `default` it is never absent; with `optional` it may be."""

    __slots__ = ("constraint", "default", "documentation", "name", "optional", "since")

    def __init__(
        self,
        name: str,
        constraint: AttributeConstraint,
        default: Attribute | None,
        optional: bool,
        documentation: str,
        since: Version | None,
    ) -> None:
        self.name: str = name
        self.constraint: AttributeConstraint = constraint
        self.default: Attribute | None = default
        self.optional: bool = optional
        self.documentation: str = documentation
        self.since: Version | None = since


class RegionDeclaration:
    """A region: `blocks` is the exact number of blocks it must have, -1 for at most one, -2 for any number.

    `implicit_terminator` is the operation that stands at its end when the text leaves it out.
    `arguments` names its block arguments for the printer: "arg", "for" or "reduce".
    """

    __slots__ = ("arguments", "blocks", "documentation", "implicit_terminator", "name", "optional")

    def __init__(
        self,
        name: str,
        blocks: int = 1,
        documentation: str = "",
        implicit_terminator: OperationDeclaration | None = None,
        arguments: str = "arg",
        optional: bool = False,
    ) -> None:
        self.name: str = name
        self.blocks: int = blocks
        self.documentation: str = documentation
        self.implicit_terminator: OperationDeclaration | None = implicit_terminator
        self.arguments: str = arguments
        self.optional: bool = optional


def operand(
    name: str, constraint: TypeConstraint, documentation: str, count: int = ONE, since: Version | None = None
) -> OperandDeclaration:
    return OperandDeclaration(name, constraint, count, documentation, since)


# A result is declared with the same facts as an operand.
result = operand


def attribute(
    name: str,
    constraint: AttributeConstraint,
    documentation: str,
    default: Attribute | None = None,
    optional: bool = False,
    since: Version | None = None,
) -> AttributeDeclaration:
    return AttributeDeclaration(name, constraint, default, optional, documentation, since)


class OperationDeclaration:
    """Everything known about one operation.

    `class_name` is NVIDIA's C++ class without its `Op`, where it is not the mnemonic in capitals.  `syntax` is its
    assembly format (the language is described in `text/format.py`).  `same_types` lists groups of operand and result
    names that share one type; with `fixed_types` they give the types the text leaves out.  `rules` are the declared
    type constraints that NVIDIA's verifier checks in order, before `verify`.  Those that follow from `same_types` come
    first and need not be written; where NVIDIA's verifier checks another one before, they are.
    A `verify` that looks at more than types, attributes and segments has the trait `SURROUNDINGS`, or is not always
    asked: operations alike in these are verified once.
    `inference` finds the types that the builder is not given and these do not say (an `Inference` of
    `dialect/inference.py`, which this layer cannot name).
    `cost` is what an element takes, `reference` the function of one real number that an approximation is held to.
    `reads` and `writes` name the operand that leads to the memory the operation reads and writes: pointers or a view.
    `name_hints` are what the printer calls the results: one hint for all or one for each, an empty one where they are
    numbered but `assume` of them is named; with `computes_names` it asks the operation (`text/names.py`).
    """

    __slots__ = (
        "_class_name",
        "_operand_index",
        "accesses_memory",
        "aliases",
        "assembly",
        "attributes",
        "chapter",
        "cost",
        "defaults",
        "description",
        "example",
        "fixed_types",
        "inference",
        "inherent",
        "is_builtin",
        "is_numbered",
        "is_terminator",
        "is_verified_alone",
        "legalization",
        "mnemonic",
        "name",
        "name_hints",
        "newer_mnemonic",
        "opcode",
        "operands",
        "plain_operands",
        "reads",
        "reference",
        "regions",
        "results",
        "rules",
        "same_types",
        "section",
        "draft_only",
        "since",
        "summary",
        "syntax",
        "testing",
        "traits",
        "unregistered",
        "verified_types",
        "verify",
        "verify_regions",
        "writes",
    )

    def __init__(
        self,
        name: str,
        *,
        summary: str,
        chapter: str = "",
        description: str = "",
        example: str = "",
        syntax: str = "",
        opcode: int | None = None,
        class_name: str = "",
        since: Version | None = V13_1,
        section: str = "",
        operands: tuple[OperandDeclaration, ...] = (),
        attributes: tuple[AttributeDeclaration, ...] = (),
        results: tuple[OperandDeclaration, ...] = (),
        regions: tuple[RegionDeclaration, ...] = (),
        traits: int = 0,
        cost: ElementCost = ADDITION_COST,
        reference: Callable[[float], float] | None = None,
        reads: str | None = None,
        writes: str | None = None,
        same_types: tuple[tuple[str, ...], ...] = (),
        fixed_types: dict[str, Type] | None = None,
        rules: tuple[TypeRule, ...] = (),
        verify: Verifier | None = None,
        verify_regions: Verifier | None = None,
        inference: object = None,
        name_hints: tuple[str, ...] = (),
        computes_names: bool = False,
        aliases: tuple[str, ...] = (),
        newer_mnemonic: str | None = None,
        legalization: str = "",
        testing: bool = False,
        dialect: str = "cuda_tile",
    ) -> None:
        self.name: str = f"{dialect}.{name}"
        self.mnemonic: str = name
        self.newer_mnemonic: str | None = newer_mnemonic
        self.chapter: str = chapter
        self.summary: str = summary
        self.description: str = description
        self.example: str = example
        self.syntax: str = syntax
        self.opcode: int | None = opcode
        self._class_name: str = class_name
        self.since: Version | None = since
        self.section: str = section
        self.draft_only: bool = since is None
        self.operands: tuple[OperandDeclaration, ...] = operands
        self.attributes: tuple[AttributeDeclaration, ...] = attributes
        self.results: tuple[OperandDeclaration, ...] = results
        self.regions: tuple[RegionDeclaration, ...] = regions
        self.traits: int = traits
        self.cost: ElementCost = cost
        self.reference: Callable[[float], float] | None = reference
        self.reads: str | None = reads
        self.writes: str | None = writes
        self.accesses_memory: bool = reads is not None or writes is not None
        self.same_types: tuple[tuple[str, ...], ...] = same_types
        self.fixed_types: dict[str, Type] = fixed_types if fixed_types is not None else {}
        self.rules: tuple[TypeRule, ...] = rules
        if same_types:
            stated = [rule.alike for rule in rules]
            self.rules = (*[same_type(*group) for group in same_types if group not in stated], *rules)
        self.verify: Verifier | None = verify
        self.verify_regions: Verifier | None = verify_regions
        self.inference: object = inference
        self.name_hints: tuple[str, ...] = name_hints
        # Whether the printer numbers the results: no hint is declared and none is computed from the operation.
        self.is_numbered: bool = not any(name_hints) and not computes_names
        self.aliases: tuple[str, ...] = aliases
        self.legalization: str = legalization
        self.testing: bool = testing
        self.unregistered: bool = False
        self.is_builtin: bool = dialect == "builtin"
        self.is_terminator: bool = bool(traits & TERMINATOR)
        # Whether operations with the same types, attributes and segments are all correct or all broken.
        self.is_verified_alone: bool = not regions and not traits & (TERMINATOR | SURROUNDINGS)
        self.defaults: dict[str, Attribute] = {}
        self.inherent: dict[str, AttributeDeclaration] = {}
        for declared in attributes:
            self.inherent[declared.name] = declared
            if declared.default is not None:
                self.defaults[declared.name] = declared.default
        self.plain_operands: bool = True
        self._operand_index: dict[str, int] = {}
        for index, each in enumerate(operands):
            self._operand_index[each.name] = index
            if each.count != ONE:
                self.plain_operands = False
        # Filled on first use by the text layer and by the verifier; kept here so that a look-up is one attribute.
        self.assembly: object = None
        self.verified_types: set[tuple[object, ...]] = set()

    @property
    def class_name(self) -> str:
        """NVIDIA's C++ class without its `Op`; of element-wise operations the letter of the type is a capital."""
        if self._class_name:
            return self._class_name
        found = "".join([part.capitalize() for part in self.mnemonic.split("_")])
        return found[:-1] + found[-1].upper() if self.traits & ELEMENTWISE and found[-1] in "fi" else found

    def operand_number(self, name: str) -> int:
        """The position of a declared operand."""
        return self._operand_index[name]

    def operand_range(self, operation: Operation, name: str) -> tuple[int, int]:
        """Start and end of a declared operand's values in `operation.operands`."""
        index = self._operand_index[name]
        if self.plain_operands:
            return index, index + 1
        segments = operation.segments
        if segments is None:
            lengths = self.segment_lengths(operation)
            start = sum(lengths[:index])
            return start, start + lengths[index]
        start = 0
        for number in range(index):
            start += segments[number]
        return start, start + segments[index]

    def segment_lengths(self, operation: Operation) -> list[int]:
        """How many values each declared operand has."""
        if operation.segments is not None:
            return list(operation.segments)
        single = sum(1 for o in self.operands if o.count == ONE)
        spare = max(len(operation.operands) - single, 0)
        return [1 if o.count == ONE else spare for o in self.operands]

    def spelled_name(self, version: Version) -> str:
        """The mnemonic in the text of a dialect version (13.4 renamed one operation, docs/conflicts.md A16)."""
        if self.newer_mnemonic is not None and version >= V13_4:
            return self.newer_mnemonic
        return self.mnemonic

    def has_trait(self, trait: int) -> bool:
        return bool(self.traits & trait)

    def __repr__(self) -> str:
        return f"<OperationDeclaration {self.name}>"


def _forget_types() -> None:
    """Empty what remembers answers about types."""
    for constraint in _CONSTRAINTS:
        constraint.accepted.clear()


forget_with(_forget_types)
