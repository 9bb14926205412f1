"""cuTe layout attributes: `#cute.layout<(1@0, 16@1)>` (the printer draft, "cuTe Layout Attributes"; docs/conflicts.md A14).

They ride on tile metadata as discardable attributes, are read strictly and written back, and never reach bytecode.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.attributes import Attribute
from tileir.ir.diagnostics import Invalid
from tileir.ir.interning import LEAF, intern, register

CUTE_KINDS: Final[tuple[str, ...]] = ("layout", "shape", "stride")


class CuteTerm:
    """A leaf `16@1` or `16`, or a tuple of terms; a leaf has no `elements`."""

    __slots__ = ("dimension", "elements", "value")

    def __init__(self, value: int, dimension: int | None, elements: tuple[CuteTerm, ...] | None = None) -> None:
        self.value: int = value
        self.dimension: int | None = dimension
        self.elements: tuple[CuteTerm, ...] | None = elements

    @property
    def text(self) -> str:
        # An explicit stack, because tuples nest as deep as the text says.
        out: list[str] = []
        pending: list[CuteTerm | str] = [self]
        while pending:
            part = pending.pop()
            if isinstance(part, str):
                out.append(part)
            elif part.elements is None:
                out.append(str(part.value) if part.dimension is None else f"{part.value}@{part.dimension}")
            else:
                out.append("(")
                pending.append(")")
                for index, element in enumerate(reversed(part.elements)):
                    pending += [", ", element] if index else [element]
        return "".join(out)


class CuteAttribute(Attribute):
    """`#cute.layout<(1@0, 16@1)>`: metadata that is read and written back, and means nothing here."""

    __slots__ = ("kind", "term")

    def __init__(self, kind: str, term: CuteTerm) -> None:
        self.kind: str = kind
        self.term: CuteTerm = term

    @property
    def bare_text(self) -> str:
        return f"{self.kind}<{self.term.text}>"

    @property
    def text(self) -> str:
        return f"#cute.{self.bare_text}"


def parse_cute(kind: str, text: str) -> CuteAttribute:
    """Read what stands between `#cute.<kind><` and `>`; the message of `Invalid` names the malformed part.

    term ::= integer (`@` dimension)? | `(` (term (`,` term)*)? `)`
    """
    if kind not in CUTE_KINDS:
        raise Invalid(f"unknown cute attribute '{kind}', expected one of: {', '.join(CUTE_KINDS)}")
    reader = _CuteReader(kind, text)
    term = reader.term()
    reader.end()
    return cute_attribute(kind, term)


class _CuteReader:
    __slots__ = ("kind", "position", "text")

    def __init__(self, kind: str, text: str) -> None:
        self.kind: str = kind
        self.text: str = text
        self.position: int = 0

    def peek(self) -> str:
        """The next character that is not a blank, "" at the end."""
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
        return self.text[self.position] if self.position < len(self.text) else ""

    def malformed(self, start: int, expected: str) -> Invalid:
        end = start
        while end < len(self.text) and self.text[end] not in ",()":
            end += 1
        part = self.text[start : max(end, start + 1)].strip()
        found = f"parameter '{part}'" if part else "parameter"
        return Invalid(f"malformed {found} of 'cute.{self.kind}': expected {expected}")

    def term(self) -> CuteTerm:
        # The tuples that are open, each with the elements read so far.
        path: list[list[CuteTerm]] = []
        while True:
            if self.peek() != "(":
                found = self.leaf()
            else:
                self.position += 1
                if self.peek() != ")":
                    path.append([])
                    continue
                self.position += 1
                found = CuteTerm(0, None, ())
            while path:
                path[-1].append(found)
                separator = self.peek()
                if separator not in (",", ")"):
                    raise self.malformed(self.position, "',' or ')'")
                self.position += 1
                if separator == ",":
                    break
                found = CuteTerm(0, None, tuple(path.pop()))
            else:
                return found

    def leaf(self) -> CuteTerm:
        start = self.position
        negative = self.peek() == "-"
        if negative:
            self.position += 1
        value = self.number(start, "an integer or a tuple")
        if self.peek() != "@":
            return CuteTerm(-value if negative else value, None)
        self.position += 1
        self.peek()
        return CuteTerm(-value if negative else value, self.number(start, "a dimension number after '@'"))

    def number(self, start: int, expected: str) -> int:
        first = self.position
        while self.position < len(self.text) and "0" <= self.text[self.position] <= "9":
            self.position += 1
        if not 0 < self.position - first <= 19:
            raise self.malformed(start, expected)
        return int(self.text[first : self.position])

    def end(self) -> None:
        if self.peek():
            raise self.malformed(self.position, "the end of the attribute")


_cute: Final[dict[str, CuteAttribute]] = {}
register(_cute, LEAF)


def cute_attribute(kind: str, term: CuteTerm) -> CuteAttribute:
    key = f"{kind}<{term.text}>"
    found = _cute.get(key)
    if found is None:
        found = intern(_cute, key, CuteAttribute(kind, term))
    return found
