"""The attributes of cuda_tile that are more than a keyword: assumption predicates, optimization hints, cuTe layouts.

Debug information is in `debug_info.py`.  The factories do not check their parameters; a `*_error` function returns what
is wrong with them.  The rules of predicates are with `assume` (`ops/miscellaneous.py`).
"""

from __future__ import annotations

from tileir.annotations import Final, cast
from tileir.dialect.types import is_power_of_two
from tileir.ir.attributes import (
    BODY,
    WHOLE,
    Attribute,
    DictionaryAttribute,
    FloatAttribute,
    IntegerAttribute,
    element_text,
    spell,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import AttributeConstraint, VerifyContext
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import Invalid
from tileir.ir.interning import COMPOSITES, LEAF, intern, register
from tileir.ir.quoting import key_text
from tileir.ir.types import I1
from tileir.ir.versions import V13_1, V13_4, Version

# --- assumption predicates (the types draft, "Assume predicates") ---


class PredicateAttribute(Attribute):
    """Base of what `assume` may promise about a value; `bare_text` is how `assume` itself spells it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The full name diagnostics use, `cuda_tile.div_by`."""
        return "cuda_tile." + self.bare_text.partition("<")[0]

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
    def bare_text(self) -> str:
        if self.every is None or self.along is None:
            return f"div_by<{self.divisor}>"
        return f"div_by<{self.divisor}, every {self.every} along {self.along}>"


class BoundedAttribute(PredicateAttribute):
    """`bounded<0, ?>`: every element, read as signed, lies between the bounds.

    `strict` excludes the bounds themselves; only the types draft has it (docs/reference/conflicts.md C2).
    """

    __slots__ = ("lower", "strict", "upper")

    def __init__(self, lower: int | None, upper: int | None, strict: bool) -> None:
        self.lower: int | None = lower
        self.upper: int | None = upper
        self.strict: bool = strict

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
            found.append(f"{', ' if index else ''}{key_text(name)} = ")
            if not isinstance(hints, DictionaryAttribute):
                found.append((hints, WHOLE))
                continue
            found.append("{")
            for position, (key, value) in enumerate(hints.entries):
                found.append(f"{', ' if position else ''}{key_text(key)} = ")
                # As in an array, a number has no type if the reader would assume it.
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
    """Names of architectures and hints are never quoted (docs/reference/printing.md section 6)."""
    if not isinstance(hints, DictionaryAttribute):
        return f"{name} = {hints.text}"
    return f"{name} = {{{', '.join([f'{key} = {_untyped_text(value)}' for key, value in hints.entries])}}}"


def _untyped_text(value: Attribute) -> str:
    if isinstance(value, (IntegerAttribute, FloatAttribute)):
        return value.bare_text
    if isinstance(value, DenseAttribute):
        return f"dense<{value.literal}>"
    return value.text


def optimization_hints_error(entries: DictionaryAttribute) -> str | None:
    for name, value in entries.entries:
        if not isinstance(value, DictionaryAttribute):
            return hint_entry_error(name, value)
    return None


def hint_entry_error(name: str, value: Attribute) -> str:
    return f"expected dictionary attribute for optimization_hints entry `{name}` got value={value.text}"


# --- which hints exist, for which operation, with which values (docs/reference/conflicts.md E) ---
#
# Hints are advice, so by default unknown ones are accepted; with the mode "warn" each doubtful hint is a warning, with
# "error" the operation is refused after its warnings (the contract of the types draft).

# The architectures, each with the first dialect version that knows it.
_NUMBERS: Final[tuple[int, ...]] = (80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)
ARCHITECTURES: Final[dict[str, Version]] = {
    **{f"sm_{number}": V13_4 if number == 107 else V13_1 for number in _NUMBERS},
    "default": V13_1,
}

# These have no clusters: one CTA per cluster is all there is.
_SINGLE_CTA_ARCHITECTURES: Final[tuple[str, ...]] = ("sm_80", "sm_86", "sm_87", "sm_88", "sm_89")

# The hints each kind of operation reads.  A kind that is not listed may carry any known hint.
HINTS_OF_KIND: Final[dict[str, tuple[str, ...]]] = {
    "entry": ("num_cta_in_cga", "num_worker_warps_per_cta", "occupancy"),
    "view": ("latency", "allow_tma"),
    "pointer": ("latency",),
}

HINT_DOCUMENTATION: Final[dict[str, str]] = {
    "num_cta_in_cga": "thread blocks per cluster: a power of two up to 16; 1 on sm_80 to sm_89",
    "num_worker_warps_per_cta": "worker warps per thread block: a power of two up to 32, of which tileiras 13.4 makes 4 or 8",
    "occupancy": "thread blocks per multiprocessor to aim for: 1 to 32",
    "allow_tma": "whether the tensor memory accelerator may move this tile: true or false",
    "latency": "how costly the access is expected to be: 1 (cheap) to 10",
}


# Integers from 1 up to a limit; of some only the powers of two.
_LIMITS: Final[dict[str, int]] = {"num_cta_in_cga": 16, "num_worker_warps_per_cta": 32, "occupancy": 32, "latency": 10}
_POWERS_OF_TWO: Final[tuple[str, ...]] = ("num_cta_in_cga", "num_worker_warps_per_cta")


def hint_error(hint: str, value: Attribute, architecture: str, kind: str) -> str | None:
    allowed = HINTS_OF_KIND.get(kind)
    if allowed is not None and hint not in allowed:
        return f"{hint} is not known hint for current Operation"
    name = f"{architecture}.{hint}"
    if hint == "allow_tma":
        is_boolean = isinstance(value, IntegerAttribute) and value.type is I1
        return None if is_boolean else f"boolean value expected for {name}"
    limit = _LIMITS.get(hint)
    if limit is None:
        return f"unknown param {hint} for {architecture}"
    if not isinstance(value, IntegerAttribute):
        return f"integer value expected for {name}"
    # A boolean is a one-bit integer; read as signed, as NVIDIA's verifier reads it, true is -1.
    number = -value.value if value.type is I1 else value.value
    if hint == "num_cta_in_cga" and architecture in _SINGLE_CTA_ARCHITECTURES and number != 1:
        return f"expected 1 for {name}"
    if hint in _POWERS_OF_TWO:
        return None if number <= limit and is_power_of_two(number) else f"expected power-of-two ≤ {limit} for {name}"
    if not 1 <= number <= limit:
        return f"integer value in the range [1, {limit}] is expected for {name}"
    return None


def architecture_errors(name: str, hints: DictionaryAttribute, kind: str, version: Version) -> list[str]:
    since = ARCHITECTURES.get(name)
    if since is None or since > version:
        return [f"unknown hint key {name}"]
    found = [hint_error(hint, value, name, kind) for hint, value in hints.entries]
    return [error for error in found if error is not None]


def verify_hints(operation: Operation, context: VerifyContext, kind: str) -> None:
    """Check the `optimization_hints` of an operation; `kind` is "entry", "view", "pointer" or "" for any other."""
    attribute = operation.attributes.get("optimization_hints")
    if not isinstance(attribute, OptimizationHintsAttribute):
        return
    for name, hints in attribute.entries.entries:
        if not isinstance(hints, DictionaryAttribute):
            context.error(operation, hint_entry_error(name, hints))
            raise Invalid("Optimization hints verification failed")
        if context.hints == "ignore":
            continue
        errors = architecture_errors(name, hints, kind, context.version)
        for error in errors:
            context.report("warning", error, operation.location)
        if errors and context.hints == "error":
            raise Invalid("Optimization hints verification failed")


def hint_of(operation: Operation, name: str, target: str) -> int | None:
    """The value of a hint for a GPU, or else for all of them."""
    attribute = operation.attributes.get("optimization_hints")
    if not isinstance(attribute, OptimizationHintsAttribute):
        return None
    found: int | None = None
    for architecture, hints in attribute.entries.entries:
        if architecture not in (target, "default") or not isinstance(hints, DictionaryAttribute):
            continue
        for key, value in hints.entries:
            if key == name and isinstance(value, IntegerAttribute) and (found is None or architecture == target):
                found = value.value
    return found


# --- cuTe layouts (the printer draft, "cuTe Layout Attributes"; docs/reference/conflicts.md A14) ---

CUTE_KINDS: Final[tuple[str, ...]] = ("layout", "shape", "stride")


class CuteAttribute(Attribute):
    """`#cute.layout<(1@0, 16@1)>`: metadata that is read strictly and written back, and never reaches bytecode."""

    __slots__ = ("kind", "term")

    def __init__(self, kind: str, term: str) -> None:
        self.kind: str = kind
        self.term: str = term

    @property
    def bare_text(self) -> str:
        return f"{self.kind}<{self.term}>"

    @property
    def text(self) -> str:
        return f"#cute.{self.bare_text}"


def parse_cute(kind: str, text: str) -> CuteAttribute:
    """Read the text between `#cute.<kind><` and `>`; the message of `Invalid` names the malformed part.

    term ::= integer (`@` dimension)? | `(` (term (`,` term)*)? `)`
    """
    if kind not in CUTE_KINDS:
        raise Invalid(f"unknown cute attribute '{kind}', expected one of: {', '.join(CUTE_KINDS)}")
    return cute_attribute(kind, _CuteReader(kind, text).read())


class _CuteReader:
    def __init__(self, kind: str, text: str) -> None:
        self.kind: str = kind
        self.text: str = text
        self.position: int = 0

    def peek(self) -> str:
        """The next character that is not a blank, "" at the end."""
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
        return self.text[self.position : self.position + 1]

    def malformed(self, start: int, expected: str) -> Invalid:
        end = start
        while end < len(self.text) and self.text[end] not in ",()":
            end += 1
        part = self.text[start : max(end, start + 1)].strip()
        found = f"parameter '{part}'" if part else "parameter"
        return Invalid(f"malformed {found} of 'cute.{self.kind}': expected {expected}")

    def read(self) -> str:
        """The term as it is printed.  Tuples may nest to any depth, so nothing recurses."""
        out: list[str] = []
        depth = 0
        while True:
            if self.peek() != "(":
                out.append(self.leaf())
            else:
                self.position += 1
                out.append("(")
                if self.peek() != ")":
                    depth += 1
                    continue
                self.position += 1
                out.append(")")
            separator = ")"
            while depth and separator == ")":
                separator = self.peek()
                if separator not in (",", ")"):
                    raise self.malformed(self.position, "',' or ')'")
                self.position += 1
                out.append(", " if separator == "," else ")")
                if separator == ")":
                    depth -= 1
            if separator == ")":
                break
        if self.peek():
            raise self.malformed(self.position, "the end of the attribute")
        return "".join(out)

    def leaf(self) -> str:
        start = self.position
        negative = self.peek() == "-"
        if negative:
            self.position += 1
        value = self.number(start, "an integer or a tuple")
        found = str(-value if negative else value)
        if self.peek() != "@":
            return found
        self.position += 1
        self.peek()
        dimension = self.number(start, "a dimension number after '@'")
        return f"{found}@{dimension}"

    def number(self, start: int, expected: str) -> int:
        first = self.position
        while self.position < len(self.text) and "0" <= self.text[self.position] <= "9":
            self.position += 1
        if not 0 < self.position - first <= 19:
            raise self.malformed(start, expected)
        return int(self.text[first : self.position])


# --- factories ---

_div_by: Final[dict[tuple[int, int | None, int | None], DivByAttribute]] = {}
_bounded: Final[dict[tuple[int | None, int | None, bool], BoundedAttribute]] = {}
_same_elements: Final[dict[tuple[int, ...], SameElementsAttribute]] = {}
register(_div_by, LEAF)
register(_bounded, LEAF)
register(_same_elements, LEAF)


def _check_integers(name: str, *values: object) -> None:
    """Raise the error that a type checker would report."""
    for value in values:
        if not isinstance(value, int):
            raise TypeError(f"{name} takes integers, not {value!r}")


def div_by(divisor: int, every: int | None = None, along: int | None = None) -> DivByAttribute:
    """The assumption that a divisor divides integers, addresses or extents."""
    key = (divisor, every, along)
    found = _div_by.get(key)
    if found is None:
        _check_integers("div_by", *[value for value in key[1:] if value is not None], divisor)
        found = intern(_div_by, key, DivByAttribute(divisor, every, along))
    return found


def bounded(lower: int | None, upper: int | None, strict: bool = False) -> BoundedAttribute:
    """The assumption that integers are within bounds; `strict` excludes the bounds."""
    key = (lower, upper, strict)
    found = _bounded.get(key)
    if found is None:
        _check_integers("bounded", *[value for value in (lower, upper) if value is not None])
        found = intern(_bounded, key, BoundedAttribute(lower, upper, strict))
    return found


def same_elements(values: tuple[int, ...]) -> SameElementsAttribute:
    """The assumption that the elements of each group of this shape are equal."""
    found = _same_elements.get(values)
    if found is None:
        if type(values) is not tuple:
            raise TypeError(f"same_elements takes a tuple of integers, not {values!r}")
        _check_integers("same_elements", *values)
        found = intern(_same_elements, values, SameElementsAttribute(values))
    return found


# Stands for `same_elements<dense<c>>` until its tile type is known (docs/reference/conflicts.md C3); never in a program.
SAME_ELEMENTS_EVERYWHERE: Final = SameElementsAttribute((-1,))


def optimization_hints(entries: DictionaryAttribute) -> OptimizationHintsAttribute:
    """Hints for GPUs, by architecture."""
    key = ("hints", entries)
    return cast(
        OptimizationHintsAttribute, COMPOSITES.get(key) or intern(COMPOSITES, key, OptimizationHintsAttribute(entries))
    )


_cute: Final[dict[tuple[str, str], CuteAttribute]] = {}
register(_cute, LEAF)


def cute_attribute(kind: str, term: str) -> CuteAttribute:
    """The attribute of a term that is spelled as it is printed."""
    key = (kind, term)
    return _cute.get(key) or intern(_cute, key, CuteAttribute(kind, term))


# --- constraints ---

# NVIDIA's definition of the hints attribute has no summary, hence no text after the colon.
HINTS_ATTRIBUTE: Final = AttributeConstraint("", lambda a: isinstance(a, OptimizationHintsAttribute), "hints")
PREDICATE_ATTRIBUTE: Final = AttributeConstraint(
    "AssumePredicateAttrInterface instance", lambda a: isinstance(a, PredicateAttribute), "predicate"
)
