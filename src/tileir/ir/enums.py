"""Attributes that are one keyword of a closed set, such as a rounding mode or a memory ordering."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.attributes import Attribute

# Keywords with these values exist only in the drafts and have no public byte (docs/conflicts.md B): they are read where
# draft spellings are, and a program that holds one is legalized before it is written.
FIRST_DRAFT_ONLY_VALUE: Final = 100


class EnumKind:
    """A closed set of keywords; `#cuda_tile.<name><keyword>` in the generic form.

    `values` gives the wire value of each keyword, `since` the first dialect version of those that came later,
    `aliases` the older or draft spellings that are read but never printed (docs/conflicts.md B).  `is_integer` tells
    that the generic form shows the value instead, as `2 : i32`.
    """

    __slots__ = ("aliases", "cases", "is_integer", "name", "since", "values")

    def __init__(
        self,
        name: str,
        values: dict[str, int],
        since: dict[str, tuple[int, int]] | None = None,
        aliases: dict[str, str] | None = None,
        is_integer: bool = False,
    ) -> None:
        self.name: str = name
        self.is_integer: bool = is_integer
        self.values: dict[str, int] = values
        self.since: dict[str, tuple[int, int]] = since or {}
        self.aliases: dict[str, str] = aliases or {}
        self.cases: dict[str, EnumAttribute] = {k: EnumAttribute(self, k) for k in values}

    def __getitem__(self, keyword: str) -> EnumAttribute:
        return self.cases[keyword]

    def keywords(self, version: tuple[int, int]) -> list[str]:
        """The public spellings of the dialect of `version`, in declaration order."""
        return [
            k
            for k, value in self.values.items()
            if value < FIRST_DRAFT_ONLY_VALUE and self.since.get(k, version) <= version
        ]


class EnumAttribute(Attribute):
    """One keyword of an `EnumKind`."""

    __slots__ = ("keyword", "kind")

    def __init__(self, kind: EnumKind, keyword: str) -> None:
        self.kind: EnumKind = kind
        self.keyword: str = keyword

    @property
    def bare_text(self) -> str:
        return self.keyword

    @property
    def text(self) -> str:
        if self.kind.is_integer:
            return f"{self.kind.values[self.keyword]} : i32"
        return f"#cuda_tile.{self.kind.name}<{self.keyword}>"
