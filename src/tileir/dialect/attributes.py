"""The attributes of cuda_tile that are more than a keyword.

Assumption predicates, optimization hints and debug information (cuTe layouts are in `cute.py`); interned like all
attributes.  As with types, the factories trust their caller and a `*_mistake` function says what is wrong with the
parameters on their own.  What an attribute must satisfy together with an operation stands with that operation
(`ops/miscellaneous.py` for predicates, `hints.py`, `debug_info.py`).
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.attributes import (
    BODY,
    WHOLE,
    ArrayAttribute,
    Attribute,
    DictionaryAttribute,
    FloatAttribute,
    IntegerAttribute,
    element_text,
    spell,
)
from tileir.ir.declaration import AttributeConstraint
from tileir.ir.dense import DenseAttribute
from tileir.ir.interning import COMPOSITES, LEAF, POOL, add, intern, register
from tileir.ir.location import (
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
    UnknownLocation,
)
from tileir.ir.quoting import is_bare_identifier, quote

# --- assumption predicates (the types draft, "Assume predicates") ---


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

    `strict` excludes the bounds themselves; only the types draft has it (docs/conflicts.md C2).
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

    def parts(self, way: int) -> list[str | tuple[Attribute, int]]:
        found: list[str | tuple[Attribute, int]] = ["<" if way == BODY else "#cuda_tile.optimization_hints<"]
        for index, (name, hints) in enumerate(self.entries.entries):
            found.append(f"{', ' if index else ''}{_key_text(name)} = ")
            if not isinstance(hints, DictionaryAttribute):
                found.append((hints, WHOLE))
                continue
            found.append("{")
            for position, (key, value) in enumerate(hints.entries):
                found.append(f"{', ' if position else ''}{_key_text(key)} = ")
                # As in an array, a number goes without its type if that is the one the reader takes anyway.
                number = isinstance(value, (IntegerAttribute, FloatAttribute))
                found.append(element_text(value) if number else (value, WHOLE))
            found.append("}")
        found.append(">")
        return found

    @property
    def exact_text(self) -> str:
        """The same with the quotes and types NVIDIA's printer leaves out, where the reader would miss them."""
        return spell(self, BODY)

    @property
    def text(self) -> str:
        return spell(self)


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


def _key_text(name: str) -> str:
    return name if is_bare_identifier(name) else quote(name)


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

    def body(self) -> list[str | tuple[Attribute, int]]:
        """The pieces of what follows the name."""
        raise TypeError(type(self).__name__)

    def parts(self, way: int) -> list[str | tuple[Attribute, int]]:
        # Where the field already says the kind it goes without its name (docs/printing.md section 9).
        return self.body() if way == BODY else [f"#cuda_tile.{self.stem}", *self.body()]

    @property
    def bare_text(self) -> str:
        return spell(self, BODY)

    @property
    def text(self) -> str:
        return spell(self)


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

    def body(self) -> list[str | tuple[Attribute, int]]:
        return [f"<{quote(self.name)} in {quote(self.directory)}>"]


class DICompileUnit(DebugScope):
    """`di_compile_unit<file = ..>`."""

    __slots__ = ("file",)

    def __init__(self, file: DIFile) -> None:
        self.file: DIFile = file

    @property
    def stem(self) -> str:
        return "di_compile_unit"

    def body(self) -> list[str | tuple[Attribute, int]]:
        return ["<file = ", (self.file, BODY), ">"]


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

    def body(self) -> list[str | tuple[Attribute, int]]:
        names = f"name = {quote(self.name)}, linkageName = {quote(self.linkage_name)}"
        scope_line = f", scopeLine = {self.scope_line}>" if self.scope_line else ">"
        middle = f", line = {self.line}, {names}, compileUnit = "
        return ["<file = ", (self.file, BODY), middle, (self.compile_unit, BODY), scope_line]


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

    def body(self) -> list[str | tuple[Attribute, int]]:
        column = f", column = {self.column}>" if self.column else ">"
        place = f", line = {self.line}{column}"
        return ["<scope = ", (self.scope, WHOLE), ", file = ", (self.file, BODY), place]


class DILocation(Location):
    """`di_loc<loc("k.py":1:1) in ..>`: a position and the scope it is in."""

    __slots__ = ("scope", "source")

    def __init__(self, source: Location, scope: LocalScope) -> None:
        self.source: Location = source
        self.scope: LocalScope = scope

    def inside(self) -> list[str | tuple[Attribute, int]]:
        return ["#cuda_tile.di_loc<", (self.source, WHOLE), " in ", (self.scope, WHOLE), ">"]

    def parts(self, way: int) -> list[str | tuple[Attribute, int]]:
        return self.inside()


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
_files: Final[dict[tuple[str, str], DIFile]] = {}
register(_div_by, LEAF)
register(_bounded, LEAF)
register(_same_elements, LEAF)
register(_files, LEAF)


def _check_integers(name: str, *values: object) -> None:
    """Refuse what a type checker would refuse."""
    for value in values:
        if not isinstance(value, int):
            raise TypeError(f"{name} takes integers, not {value!r}")


def div_by(divisor: int, every: int | None = None, along: int | None = None) -> DivByAttribute:
    key = (divisor, every, along)
    found = _div_by.get(key)
    if found is None:
        _check_integers("div_by", *[value for value in key[1:] if value is not None], divisor)
        found = intern(_div_by, key, DivByAttribute(divisor, every, along))
    return found


def bounded(lower: int | None, upper: int | None, strict: bool = False) -> BoundedAttribute:
    key = (lower, upper, strict)
    found = _bounded.get(key)
    if found is None:
        _check_integers("bounded", *[value for value in (lower, upper) if value is not None])
        found = intern(_bounded, key, BoundedAttribute(lower, upper, strict))
    return found


def same_elements(values: tuple[int, ...]) -> SameElementsAttribute:
    found = _same_elements.get(values)
    if found is None:
        if type(values) is not tuple:
            raise TypeError(f"same_elements takes a tuple of integers, not {values!r}")
        _check_integers("same_elements", *values)
        found = intern(_same_elements, values, SameElementsAttribute(values))
    return found


# What `same_elements<dense<c>>` says before the tile it is about is known (docs/conflicts.md C3); never in a program.
SAME_ELEMENTS_EVERYWHERE: Final = SameElementsAttribute((-1,))


def optimization_hints(entries: DictionaryAttribute) -> OptimizationHintsAttribute:
    key = ("hints", entries)
    found = COMPOSITES.get(key)
    if found is None:
        found = intern(COMPOSITES, key, OptimizationHintsAttribute(entries))
    assert isinstance(found, OptimizationHintsAttribute)
    return found


def di_file(name: str, directory: str) -> DIFile:
    key = (name, directory)
    found = _files.get(key)
    if found is None:
        found = intern(_files, key, DIFile(name, directory))
    return found


def di_compile_unit(file: DIFile) -> DICompileUnit:
    key = ("unit", file)
    found = COMPOSITES.get(key)
    if found is None:
        found = intern(COMPOSITES, key, DICompileUnit(file))
    assert isinstance(found, DICompileUnit)
    return found


def di_subprogram(
    file: DIFile, line: int, name: str, linkage_name: str, compile_unit: DICompileUnit, scope_line: int = 0
) -> DISubprogram:
    key = ("subprogram", file, line, name, linkage_name, compile_unit, scope_line)
    found = COMPOSITES.get(key)
    if found is None:
        found = intern(COMPOSITES, key, DISubprogram(file, line, name, linkage_name, compile_unit, scope_line))
    assert isinstance(found, DISubprogram)
    return found


def di_lexical_block(scope: LocalScope, file: DIFile, line: int, column: int = 0) -> DILexicalBlock:
    key = ("block", scope, file, line, column)
    found = COMPOSITES.get(key)
    if found is None:
        found = intern(COMPOSITES, key, DILexicalBlock(scope, file, line, column))
    assert isinstance(found, DILexicalBlock)
    return found


def di_location(source: Location, scope: LocalScope) -> DILocation:
    key = ("in", source, scope)
    found = COMPOSITES.get(key)
    if found is None:
        found = intern(COMPOSITES, key, DILocation(source, scope))
    assert isinstance(found, DILocation)
    return found


def di_locations(sources: list[FileLocation], scope: LocalScope) -> list[DILocation]:
    """As `di_location` of each source; the lock is taken once for all."""
    found: list[DILocation] = []
    with POOL.lock:
        for source in sources:
            key = ("in", source, scope)
            known = COMPOSITES.get(key)
            made = known if known is not None else add(COMPOSITES, key, DILocation(source, scope))
            assert isinstance(made, DILocation)
            found.append(made)
    return found


# --- constraints ---

# NVIDIA's definition of the hints attribute has no summary, hence no words after the colon.
HINTS_ATTRIBUTE: Final = AttributeConstraint("", lambda a: isinstance(a, OptimizationHintsAttribute), "hints")
PREDICATE_ATTRIBUTE: Final = AttributeConstraint(
    "AssumePredicateAttrInterface instance", lambda a: isinstance(a, PredicateAttribute), "predicate"
)
