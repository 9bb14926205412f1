"""The attributes of cuda_tile that are more than a keyword.

Assumption predicates, optimization hints and debug information (cuTe layouts are in `cute.py`); interned like all
attributes.  As with types, the factories trust their caller and a `*_mistake` function says what is wrong with the
parameters on their own.  What an attribute must satisfy together with an operation stands with that operation
(`ops/miscellaneous.py` for predicates, `hints.py`, `debug_info.py`).
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DenseAttribute,
    DictionaryAttribute,
    FloatAttribute,
    IntegerAttribute,
    element_text,
    is_bare_identifier,
    quote,
)
from tileir.ir.declaration import AttributeConstraint
from tileir.ir.location import (
    CallSiteLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
    UnknownLocation,
)

# --- assumption predicates (seed 002, "Assume predicates") ---


class PredicateAttribute(Attribute):
    """Base of what `assume` may promise about a value; `bare_text` is how `assume` itself spells it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The full name diagnostics use, `cuda_tile.div_by`."""
        raise TypeError(type(self).__name__)

    @property
    def text(self) -> str:
        return "#cuda_tile." + self.bare_text


class DivByAttribute(PredicateAttribute):
    """`div_by<16, every 4 along 0>`: the first element of each group is a multiple, the others count up from it."""

    __slots__ = ("along", "divisor", "every")

    def __init__(self, divisor: int, every: int | None, along: int | None) -> None:
        self.divisor: int = divisor
        self.every: int | None = every
        self.along: int | None = along

    @property
    def name(self) -> str:
        return "cuda_tile.div_by"

    @property
    def bare_text(self) -> str:
        if self.every is None or self.along is None:
            return f"div_by<{self.divisor}>"
        return f"div_by<{self.divisor}, every {self.every} along {self.along}>"


class BoundedAttribute(PredicateAttribute):
    """`bounded<0, ?>`: every element, read as signed, lies between the bounds.

    `strict` excludes the bounds themselves; only seed 002 has it (docs/conflicts.md C2).
    """

    __slots__ = ("lower", "strict", "upper")

    def __init__(self, lower: int | None, upper: int | None, strict: bool) -> None:
        self.lower: int | None = lower
        self.upper: int | None = upper
        self.strict: bool = strict

    @property
    def name(self) -> str:
        return "cuda_tile.bounded"

    @property
    def bare_text(self) -> str:
        lower = "?" if self.lower is None else str(self.lower)
        upper = "?" if self.upper is None else str(self.upper)
        return f"bounded<{lower}, {upper}{', strict' if self.strict else ''}>"


class SameElementsAttribute(PredicateAttribute):
    """`same_elements<[2, 4]>`: the tile consists of groups of this shape, each of one value."""

    __slots__ = ("values",)

    def __init__(self, values: tuple[int, ...]) -> None:
        self.values: tuple[int, ...] = values

    @property
    def name(self) -> str:
        return "cuda_tile.same_elements"

    @property
    def bare_text(self) -> str:
        return f"same_elements<[{', '.join([str(v) for v in self.values])}]>"


# --- optimization hints ---


class OptimizationHintsAttribute(Attribute):
    """`<sm_100 = {num_cta_in_cga = 8}>`: a dictionary of hints per architecture."""

    __slots__ = ("entries",)

    def __init__(self, entries: DictionaryAttribute) -> None:
        self.entries: DictionaryAttribute = entries

    @property
    def bare_text(self) -> str:
        return "<" + ", ".join([_architecture_text(name, hints) for name, hints in self.entries.entries]) + ">"

    @property
    def exact_text(self) -> str:
        """The same with the quotes and types NVIDIA's printer leaves out, where the reader would miss them."""
        return "<" + ", ".join([_exact_entry(name, hints) for name, hints in self.entries.entries]) + ">"

    @property
    def text(self) -> str:
        return "#cuda_tile.optimization_hints" + self.exact_text


def _architecture_text(name: str, hints: Attribute) -> str:
    """Names of architectures and hints are never quoted (docs/printing.md section 6)."""
    if not isinstance(hints, DictionaryAttribute):
        return f"{name} = {hints.text}"
    return f"{name} = {{{', '.join([f'{key} = {_untyped_text(value)}' for key, value in hints.entries])}}}"


def _untyped_text(value: Attribute) -> str:
    if isinstance(value, (IntegerAttribute, FloatAttribute)):
        return value.bare_text
    if isinstance(value, DenseAttribute):
        return f"dense<{value.literal}>"
    return value.text


def _exact_entry(name: str, value: Attribute) -> str:
    key = name if is_bare_identifier(name) else quote(name)
    if isinstance(value, DictionaryAttribute):
        return f"{key} = {{{', '.join([_exact_hint(*entry) for entry in value.entries])}}}"
    return f"{key} = {value.text}"


def _exact_hint(name: str, value: Attribute) -> str:
    """As in an array, a number goes without its type if that is the one the reader takes anyway."""
    return f"{name if is_bare_identifier(name) else quote(name)} = {element_text(value)}"


def optimization_hints_mistake(entries: DictionaryAttribute) -> str | None:
    for name, value in entries.entries:
        if not isinstance(value, DictionaryAttribute):
            return hint_entry_mistake(name, value)
    return None


def hint_entry_mistake(name: str, value: Attribute) -> str:
    return f"expected dictionary attribute for optimization_hints entry `{name}` got value={value.text}"


# --- debug information ---


class DebugScope(Attribute):
    """Base of the debug information attributes; `stem` is the name their aliases start with."""

    __slots__ = ()

    @property
    def stem(self) -> str:
        raise TypeError(type(self).__name__)

    def body(self, aliases: dict[Attribute, str]) -> str:
        """What follows the name, with the aliases used where there are any."""
        raise TypeError(type(self).__name__)

    @property
    def bare_text(self) -> str:
        return self.body(_NO_ALIASES)

    @property
    def text(self) -> str:
        return f"#cuda_tile.{self.stem}{self.body(_NO_ALIASES)}"


class LocalScope(DebugScope):
    """A scope code can be in: a subprogram or a lexical block."""

    __slots__ = ()


class DIFile(DebugScope):
    """`di_file<"k.py" in "/src">`."""

    __slots__ = ("directory", "name")

    def __init__(self, name: str, directory: str) -> None:
        self.name: str = name
        self.directory: str = directory

    @property
    def stem(self) -> str:
        return "di_file"

    def body(self, aliases: dict[Attribute, str]) -> str:
        return f"<{quote(self.name)} in {quote(self.directory)}>"


class DICompileUnit(DebugScope):
    """`di_compile_unit<file = ..>`."""

    __slots__ = ("file",)

    def __init__(self, file: DIFile) -> None:
        self.file: DIFile = file

    @property
    def stem(self) -> str:
        return "di_compile_unit"

    def body(self, aliases: dict[Attribute, str]) -> str:
        return f"<file = {_fixed_kind(self.file, aliases)}>"


class DISubprogram(LocalScope):
    """A function of the source language; `scope_line` 0 stands for none."""

    __slots__ = ("compile_unit", "file", "line", "linkage_name", "name", "scope_line")

    def __init__(
        self, file: DIFile, line: int, name: str, linkage_name: str, compile_unit: DICompileUnit, scope_line: int
    ) -> None:
        self.file: DIFile = file
        self.line: int = line
        self.name: str = name
        self.linkage_name: str = linkage_name
        self.compile_unit: DICompileUnit = compile_unit
        self.scope_line: int = scope_line

    @property
    def stem(self) -> str:
        return "di_subprogram"

    def body(self, aliases: dict[Attribute, str]) -> str:
        return (
            f"<file = {_fixed_kind(self.file, aliases)}, line = {self.line}, name = {quote(self.name)}, "
            f"linkageName = {quote(self.linkage_name)}, compileUnit = {_fixed_kind(self.compile_unit, aliases)}"
            f"{f', scopeLine = {self.scope_line}' if self.scope_line else ''}>"
        )


class DILexicalBlock(LocalScope):
    """A block inside a subprogram; `column` 0 stands for none."""

    __slots__ = ("column", "file", "line", "scope")

    def __init__(self, scope: LocalScope, file: DIFile, line: int, column: int) -> None:
        self.scope: LocalScope = scope
        self.file: DIFile = file
        self.line: int = line
        self.column: int = column

    @property
    def stem(self) -> str:
        return "di_lexical_block"

    def body(self, aliases: dict[Attribute, str]) -> str:
        return (
            f"<scope = {spelled(self.scope, aliases)}, file = {_fixed_kind(self.file, aliases)}, line = {self.line}"
            f"{f', column = {self.column}' if self.column else ''}>"
        )


class DILocation(Location):
    """`di_loc<loc("k.py":1:1) in ..>`: a position and the scope it is in."""

    __slots__ = ("scope", "source")

    def __init__(self, source: Location, scope: LocalScope) -> None:
        self.source: Location = source
        self.scope: LocalScope = scope

    def spelled(self, aliases: dict[Attribute, str]) -> str:
        return f"#cuda_tile.di_loc<{spelled(self.source, aliases)} in {spelled(self.scope, aliases)}>"

    @property
    def inner(self) -> str:
        return self.spelled(_NO_ALIASES)

    @property
    def text(self) -> str:
        return self.inner


_NO_ALIASES: Final[dict[Attribute, str]] = {}


def _fixed_kind(scope: DebugScope, aliases: dict[Attribute, str]) -> str:
    """A nested attribute whose kind the field already says goes without its name (docs/printing.md section 9)."""
    return aliases.get(scope) or scope.body(aliases)


def spelled(attribute: Attribute, aliases: dict[Attribute, str]) -> str:
    """The attribute as it stands inside another one: its alias, or its own spelling."""
    return aliases.get(attribute) or definition(attribute, aliases)


def definition(attribute: Attribute, aliases: dict[Attribute, str]) -> str:
    """The spelling of a location or debug attribute itself, with aliases (`#loc1`, `#di_file`) for what it contains."""
    if isinstance(attribute, DILocation):
        return attribute.spelled(aliases)
    if isinstance(attribute, Location):
        return f"loc({inner_definition(attribute, aliases)})"
    if isinstance(attribute, DebugScope):
        return f"#cuda_tile.{attribute.stem}{attribute.body(aliases)}"
    return attribute.text


def inner_definition(location: Location, aliases: dict[Attribute, str]) -> str:
    """What stands between the parentheses of `loc(...)`, with aliases for what it contains."""
    if isinstance(location, DILocation):
        return location.spelled(aliases)
    if isinstance(location, NameLocation) and not isinstance(location.child, UnknownLocation):
        return f"{quote(location.name)}({_inside(location.child, aliases)})"
    if isinstance(location, CallSiteLocation):
        return f"callsite({_inside(location.callee, aliases)} at {_inside(location.caller, aliases)})"
    if isinstance(location, FusedLocation):
        metadata = f"<{spelled(location.metadata, aliases)}>" if location.metadata is not None else ""
        return f"fused{metadata}[{', '.join([_inside(part, aliases) for part in location.locations])}]"
    return location.inner


def _inside(location: Location, aliases: dict[Attribute, str]) -> str:
    return aliases.get(location) or inner_definition(location, aliases)


def children(attribute: Attribute) -> list[Attribute]:
    """The attributes inside one, in the order the alias printer visits them (docs/printing.md section 8)."""
    if isinstance(attribute, DILocation):
        return [attribute.source, attribute.scope]
    if isinstance(attribute, DISubprogram):
        return [attribute.file, attribute.compile_unit]
    if isinstance(attribute, DILexicalBlock):
        return [attribute.scope, attribute.file]
    if isinstance(attribute, DICompileUnit):
        return [attribute.file]
    if isinstance(attribute, CallSiteLocation):
        return [attribute.callee, attribute.caller]
    if isinstance(attribute, FusedLocation):
        metadata: list[Attribute] = [attribute.metadata] if attribute.metadata is not None else []
        return [*metadata, *attribute.locations]
    if isinstance(attribute, NameLocation):
        return [] if isinstance(attribute.child, UnknownLocation) else [attribute.child]
    if isinstance(attribute, OpaqueLocation):
        return [attribute.fallback]
    if isinstance(attribute, ArrayAttribute):
        return list(attribute.elements)
    if isinstance(attribute, DictionaryAttribute):
        return [value for _, value in attribute.entries]
    return []


# --- factories ---

_div_by: Final[dict[tuple[int, int | None, int | None], DivByAttribute]] = {}
_bounded: Final[dict[tuple[int | None, int | None, bool], BoundedAttribute]] = {}
_same_elements: Final[dict[tuple[int, ...], SameElementsAttribute]] = {}
_hints: Final[dict[DictionaryAttribute, OptimizationHintsAttribute]] = {}
_files: Final[dict[tuple[str, str], DIFile]] = {}
_compile_units: Final[dict[DIFile, DICompileUnit]] = {}
_subprograms: Final[dict[tuple[DIFile, int, str, str, DICompileUnit, int], DISubprogram]] = {}
_lexical_blocks: Final[dict[tuple[LocalScope, DIFile, int, int], DILexicalBlock]] = {}
_locations: Final[dict[tuple[Location, LocalScope], DILocation]] = {}


def div_by(divisor: int, every: int | None = None, along: int | None = None) -> DivByAttribute:
    key = (divisor, every, along)
    found = _div_by.get(key)
    if found is None:
        found = _div_by[key] = DivByAttribute(divisor, every, along)
    return found


def bounded(lower: int | None, upper: int | None, strict: bool = False) -> BoundedAttribute:
    key = (lower, upper, strict)
    found = _bounded.get(key)
    if found is None:
        found = _bounded[key] = BoundedAttribute(lower, upper, strict)
    return found


def same_elements(values: tuple[int, ...]) -> SameElementsAttribute:
    found = _same_elements.get(values)
    if found is None:
        found = _same_elements[values] = SameElementsAttribute(values)
    return found


# What `same_elements<dense<c>>` says before the tile it is about is known (docs/conflicts.md C3); never in a program.
SAME_ELEMENTS_EVERYWHERE: Final = SameElementsAttribute((-1,))


def optimization_hints(entries: DictionaryAttribute) -> OptimizationHintsAttribute:
    found = _hints.get(entries)
    if found is None:
        found = _hints[entries] = OptimizationHintsAttribute(entries)
    return found


def di_file(name: str, directory: str) -> DIFile:
    key = (name, directory)
    found = _files.get(key)
    if found is None:
        found = _files[key] = DIFile(name, directory)
    return found


def di_compile_unit(file: DIFile) -> DICompileUnit:
    found = _compile_units.get(file)
    if found is None:
        found = _compile_units[file] = DICompileUnit(file)
    return found


def di_subprogram(
    file: DIFile, line: int, name: str, linkage_name: str, compile_unit: DICompileUnit, scope_line: int = 0
) -> DISubprogram:
    key = (file, line, name, linkage_name, compile_unit, scope_line)
    found = _subprograms.get(key)
    if found is None:
        found = _subprograms[key] = DISubprogram(file, line, name, linkage_name, compile_unit, scope_line)
    return found


def di_lexical_block(scope: LocalScope, file: DIFile, line: int, column: int = 0) -> DILexicalBlock:
    key = (scope, file, line, column)
    found = _lexical_blocks.get(key)
    if found is None:
        found = _lexical_blocks[key] = DILexicalBlock(scope, file, line, column)
    return found


def di_location(source: Location, scope: LocalScope) -> DILocation:
    key = (source, scope)
    found = _locations.get(key)
    if found is None:
        found = _locations[key] = DILocation(source, scope)
    return found


# --- constraints ---

# NVIDIA's definition of the hints attribute has no summary, hence no words after the colon.
HINTS_ATTRIBUTE: Final = AttributeConstraint("", lambda a: isinstance(a, OptimizationHintsAttribute), "hints")
PREDICATE_ATTRIBUTE: Final = AttributeConstraint(
    "AssumePredicateAttrInterface instance", lambda a: isinstance(a, PredicateAttribute), "predicate"
)
