"""Where an operation comes from.

Locations are attributes and interned like them, except `TextLocation`: every parsed operation has one of its own.  It
holds only the token's number; line and column are computed when needed, for about one operation in a thousand.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final, cast
from tileir.ir.attributes import INSIDE, WHOLE, Attribute, spell
from tileir.ir.interning import COMPOSITES, LEAF, Shared, intern, register
from tileir.ir.quoting import quote

if TYPE_CHECKING:
    import re


class Location(Attribute):
    """Base of all locations; `inside` returns the parts of the spelling inside `loc(...)`."""

    __slots__ = ()

    def inside(self) -> list[str | tuple[Attribute, int]]:
        raise TypeError(type(self).__name__)

    def parts(self, way: int) -> list[str | tuple[Attribute, int]]:
        return self.inside() if way == INSIDE else ["loc(", *self.inside(), ")"]

    @property
    def inner(self) -> str:
        """The spelling inside `loc(...)`."""
        return spell(self, INSIDE)

    @property
    def text(self) -> str:
        return spell(self)


class UnknownLocation(Location):
    """No location."""

    __slots__ = ()

    def inside(self) -> list[str | tuple[Attribute, int]]:
        return ["unknown"]


class FileLocation(Location):
    """`"file":line:column`."""

    __slots__ = ("column", "file", "line")

    def __init__(self, file: str, line: int, column: int) -> None:
        self.file: str = file
        self.line: int = line
        self.column: int = column

    def inside(self) -> list[str | tuple[Attribute, int]]:
        return [f"{quote(self.file)}:{self.line}:{self.column}"]


class NameLocation(Location):
    """`"name"` or `"name"(child)`."""

    __slots__ = ("child", "name")

    def __init__(self, name: str, child: Location) -> None:
        self.name: str = name
        self.child: Location = child

    def inside(self) -> list[str | tuple[Attribute, int]]:
        if isinstance(self.child, UnknownLocation):
            return [quote(self.name)]
        return [f"{quote(self.name)}(", (self.child, INSIDE), ")"]


class CallSiteLocation(Location):
    """`callsite(callee at caller)`."""

    __slots__ = ("callee", "caller")

    def __init__(self, callee: Location, caller: Location) -> None:
        self.callee: Location = callee
        self.caller: Location = caller

    def inside(self) -> list[str | tuple[Attribute, int]]:
        return ["callsite(", (self.callee, INSIDE), " at ", (self.caller, INSIDE), ")"]


class FusedLocation(Location):
    """`fused[a, b]` or `fused<metadata>[a, b]`."""

    __slots__ = ("locations", "metadata")

    def __init__(self, locations: tuple[Location, ...], metadata: Attribute | None) -> None:
        self.locations: tuple[Location, ...] = locations
        self.metadata: Attribute | None = metadata

    def inside(self) -> list[str | tuple[Attribute, int]]:
        found: list[str | tuple[Attribute, int]] = ["fused"]
        if self.metadata is not None:
            found.extend(["<", (self.metadata, WHOLE), ">"])
        found.append("[")
        for index, part in enumerate(self.locations):
            if index:
                found.append(", ")
            found.append((part, INSIDE))
        found.append("]")
        return found


class OpaqueLocation(Location):
    """A location owned by a host tool: an opaque handle with a printable fallback location."""

    __slots__ = ("fallback", "handle")

    def __init__(self, handle: str, fallback: Location) -> None:
        self.handle: str = handle
        self.fallback: Location = fallback

    def inside(self) -> list[str | tuple[Attribute, int]]:
        return [(self.fallback, INSIDE)]


class TextLocation(Location):
    """A token of a source text; `resolve()` returns file, line and column."""

    __slots__ = ("source", "token")

    def __init__(self, source: SourceText, token: int) -> None:
        self.source: SourceText = source
        self.token: int = token

    def resolve(self) -> FileLocation:
        line, column = self.source.line_and_column(self.source.token_offset(self.token))
        return file_location(self.source.name, line, column)

    def inside(self) -> list[str | tuple[Attribute, int]]:
        return self.resolve().inside()


class CharacterLocation(TextLocation):
    """A character inside a token, for errors in the middle of a type."""

    __slots__ = ("offset",)

    def __init__(self, source: SourceText, token: int, offset: int) -> None:
        super().__init__(source, token)
        self.offset: int = offset

    def resolve(self) -> FileLocation:
        line, column = self.source.line_and_column(self.offset)
        return file_location(self.source.name, line, column)


# A text made by a program may have a million characters on one line; a diagnostic shows as many as these.
_LONGEST_LINE_SHOWN: Final = 1000


def _line_starts(text: str) -> list[int]:
    starts = [0]
    found = text.find("\n")
    while found >= 0:
        starts.append(found + 1)
        found = text.find("\n", found + 1)
    return starts


class SourceText(Shared):
    """A text being parsed, with the positions of its tokens found on demand.

    `first_line` is the line where a part of a larger file begins, as `// -----` splits it.
    """

    __slots__ = ("_line_starts", "_starts", "first_line", "name", "text", "token_pattern")

    def __init__(self, text: str, name: str, token_pattern: re.Pattern[str], first_line: int = 1) -> None:
        self.text: str = text
        self.name: str = name
        self.first_line: int = first_line
        self.token_pattern: re.Pattern[str] = token_pattern
        self._starts: list[int] | None = None
        self._line_starts: list[int] | None = None

    def written_tokens(self) -> list[tuple[str, int]]:
        """The tokens, and where each begins; a comment is a match without one."""
        return [(match[1], match.start(1)) for match in self.token_pattern.finditer(self.text) if match.start(1) >= 0]

    def tokens(self) -> list[str]:
        """The tokens alone, in a third of the time."""
        return [token for token in self.token_pattern.findall(self.text) if token]

    def token_offset(self, token: int) -> int:
        """The character offset of a token; the offset just past the last token for one past the end."""
        if self._starts is None:
            starts = [match.start(1) for match in self.token_pattern.finditer(self.text) if match.start(1) >= 0]
            starts.append(len(self.text.rstrip()))
            self._starts = starts
        found = self._starts
        return found[token] if token < len(found) else found[-1]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both from 1."""
        if self._line_starts is None:
            self._line_starts = _line_starts(self.text)
        # Imported here because most programs are read without a diagnostic.
        from bisect import bisect_right

        line = bisect_right(self._line_starts, offset) - 1
        return line + self.first_line, offset - self._line_starts[line] + 1

    def excerpt(self, line: int, column: int) -> tuple[str, int]:
        """A line to show, and the column in what is shown: of a very long line only what is near the column."""
        if self._line_starts is None:
            self._line_starts = _line_starts(self.text)
        starts = self._line_starts
        index = line - self.first_line
        if not 0 <= index < len(starts):
            return "", column
        start = starts[index]
        end = starts[index + 1] - 1 if index + 1 < len(starts) else len(self.text)
        if end - start <= _LONGEST_LINE_SHOWN:
            return self.text[start:end].rstrip("\r"), column
        first = max(start, start + column - 1 - _LONGEST_LINE_SHOWN // 2)
        return self.text[first : min(end, first + _LONGEST_LINE_SHOWN)], start + column - first


def renew(source: SourceText, text: str, starts: list[int]) -> None:
    """Replace the text of a source after an edit; `starts` are the offsets of its tokens."""
    source.text = text
    source._starts = starts
    source._line_starts = None


UNKNOWN: Final = UnknownLocation()
_files: Final[dict[tuple[str, int, int], FileLocation]] = {}
register(_files, LEAF)


def file_location(file: str, line: int, column: int) -> FileLocation:
    """A line and column of a file."""
    key = (file, line, column)
    return _files.get(key) or intern(_files, key, FileLocation(file, line, column))


def name_location(name: str, child: Location = UNKNOWN) -> NameLocation:
    """A name, and the location that has it."""
    key = ("name", name, child)
    return cast(NameLocation, COMPOSITES.get(key) or intern(COMPOSITES, key, NameLocation(name, child)))


def call_site_location(callee: Location, caller: Location) -> CallSiteLocation:
    """A location in a function, and where it was called."""
    key = ("at", callee, caller)
    return cast(CallSiteLocation, COMPOSITES.get(key) or intern(COMPOSITES, key, CallSiteLocation(callee, caller)))


def fused_location(locations: tuple[Location, ...], metadata: Attribute | None = None) -> FusedLocation:
    """Several locations of one operation."""
    key = ("fused", locations, metadata)
    return cast(
        FusedLocation,
        COMPOSITES.get(key) or intern(COMPOSITES, key, FusedLocation(locations, metadata), 1 + len(locations) // 32),
    )


def joined_location(first: Location, second: Location) -> Location:
    """The location of what comes from two locations: both, fused; an unknown one adds nothing."""
    if first is second or isinstance(second, UnknownLocation):
        return first
    return second if isinstance(first, UnknownLocation) else fused_location((first, second))


def resolved(location: Location) -> Location:
    """The location, a text position as file, line and column."""
    if isinstance(location, TextLocation):
        return location.resolve()
    return UNKNOWN if isinstance(location, UnknownLocation) else location
