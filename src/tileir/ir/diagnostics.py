"""Diagnostics: a severity, a message, a location, notes.

A user's error is a diagnostic, never a traceback.  `ParseError` and `VerifyError` carry all that were found.
"""

from __future__ import annotations

from tileir.annotations import Any, Callable, Final, mypyc_attr
from tileir.ir.attributes import INSIDE, WHOLE, Attribute, spell
from tileir.ir.interning import HOOKS, Reduced
from tileir.ir.location import UNKNOWN, FileLocation, Location, SourceText, TextLocation, UnknownLocation
from tileir.ir.quoting import harmless, harmless_line

# How many characters of a location are shown before a message.
_LONGEST_PREFIX: Final = 1 << 16


class Code:
    """What a diagnostic is about, for tools that act on it: a stable name, as `undeclared-value`, and the values in its
    message: the name of an operand, the types that differ.  A message that no tool acts on has no code."""

    def __init__(self, code: str, **values: str) -> None:
        self.name: str = code
        self.values: dict[str, str] = values


_NO_CODE: Final = Code("")


class Diagnostic:
    """One finding: `severity` is "error", "warning" or "remark"; those of its `notes` are "note" or "help"."""

    __slots__ = ("_code", "location", "message", "notes", "severity")

    def __init__(
        self,
        severity: str,
        message: str,
        location: Location,
        notes: list[Diagnostic] | None = None,
        code: Code | None = None,
    ) -> None:
        if not isinstance(location, Location):
            # Checked here because printing happens far from the line with the error.
            raise TypeError(f"a diagnostic has a Location, as operation.location, not {location!r}")
        self.severity: str = severity
        self.message: str = message
        self.location: Location = location
        self.notes: list[Diagnostic] = notes if notes is not None else []
        self._code: Code = code if code is not None else _NO_CODE

    @property
    def position(self) -> tuple[str, int, int]:
        """File, line and column; line 0 when the location has none."""
        found = position_of(self.location)
        return (found.file, found.line, found.column) if found is not None else ("", 0, 0)

    @property
    def code(self) -> str:
        """The stable name of the error, as `undeclared-value`; empty for a message without one."""
        return self._code.name

    @property
    def values(self) -> dict[str, str]:
        """The values that the message contains: the name of an operand, the types that differ."""
        return self._code.values

    def render(self, file: str = "", paint: Callable[[str, str], str] | None = None) -> str:
        """The finding in the style of rustc: message, position, source line with a caret, notes and help.

        `file` is the file of what has no position; `paint` colors a text by what it is: a title, a severity, the caret.
        """
        paint = _plain if paint is None else paint
        width = max([len(str(each.position[1])) for each in [self, *self.notes]])
        lines = _rendered(self, file, width, paint)
        is_placed = len(lines) > 1
        for each in self.notes:
            if isinstance(each.location, UnknownLocation) or each.location is self.location:
                # It is about the same line.
                start = f"{'':{width}} = " if is_placed else ""
                message = each.shown_message.replace("\n", "\n" + " " * (len(start) + len(each.severity) + 2))
                lines.append(f"{start}{paint(f'{each.severity}:', each.severity)} {message}")
            else:
                lines.extend(_rendered(each, "", width, paint))
        return "\n".join(lines)

    def render_nvidia(self) -> str:
        """The finding as NVIDIA's tools print it: `file:line:column: error: message`, and the source line."""
        parts = [str(self), *(quoted_line(self.location) or ()), *[note.render_nvidia() for note in self.notes]]
        return "\n".join(parts)

    def __str__(self) -> str:
        """The finding without its source line and notes; nothing in it that a terminal obeys."""
        return f"{location_prefix(self.location)}{self.severity}: {self.shown_message}"

    @property
    def shown_message(self) -> str:
        """The message with nothing in it that a terminal obeys."""
        return harmless(self.message, _LAYOUT)

    def __repr__(self) -> str:
        return str(self)

    def __copy__(self) -> Diagnostic:
        return Diagnostic(self.severity, self.message, self.location, self.notes, self._code)

    def __deepcopy__(self, memo: dict[int, object]) -> Diagnostic:
        notes = [note.__deepcopy__(memo) for note in self.notes]
        return Diagnostic(self.severity, self.message, self.location, notes, self._code)

    def __reduce__(self) -> Reduced:
        return HOOKS.reduce(self)


def _plain(text: str, kind: str) -> str:
    return text


def _rendered(diagnostic: Diagnostic, file: str, width: int, paint: Callable[[str, str], str]) -> list[str]:
    """The lines of a finding without its notes; `width` is that of its line numbers."""
    severity, message = diagnostic.severity, diagnostic.shown_message
    # Notes are less than what they belong to.
    lines = [f"{paint(f'{severity}:', severity)} {message if severity == 'note' else paint(message, 'title')}"]
    position = location_prefix(diagnostic.location)[:-2] or file
    # The line of help is not in the file yet.
    if position and severity != "help":
        lines.append(f"{'':{width}}{paint('-->', 'gutter')} {position}")
    quoted = quoted_line(diagnostic.location)
    if quoted is not None:
        bar = paint("|", "gutter")
        number = paint(f"{diagnostic.position[1]:>{width}}", "gutter")
        lines += [f"{'':{width}} {bar}", f"{number} {bar} {quoted[0]}".rstrip()]
        lines.append(f"{'':{width}} {bar} {quoted[1][:-1]}{paint('^', 'caret')}")
    return lines


def render_all(diagnostics: list[Diagnostic], file: str = "", paint: Callable[[str, str], str] | None = None) -> str:
    """Findings with empty lines between them."""
    return "\n\n".join([each.render(file, paint) for each in diagnostics])


# What a message of several lines is laid out with.
_LAYOUT: Final = "\n\t"


def position_of(location: Location) -> FileLocation | None:
    """The file position of a location, if it has one of its own."""
    if isinstance(location, TextLocation):
        return location.resolve()
    if isinstance(location, FileLocation):
        return location
    return None


def source_of(location: Location) -> SourceText | None:
    return location.source if isinstance(location, TextLocation) else None


def quoted_line(location: Location) -> tuple[str, str] | None:
    """The source line of a location and below it the caret; nothing in them that a terminal obeys."""
    source = source_of(location)
    found = position_of(location)
    if source is None or found is None:
        return None
    text, column = source.excerpt(found.line, found.column)
    text = harmless_line(text)
    lead = "".join(["\t" if c == "\t" else " " for c in text[: column - 1]])
    return text, f"{lead}^"


def location_prefix(location: Location) -> str:
    """The text before `error:`; locations other than file positions are spelled out."""
    if isinstance(location, UnknownLocation):
        return ""
    found = position_of(location)
    if found is not None:
        return f"{harmless(found.file)}:{found.line}:{found.column}: "
    return f"{harmless(shown(location, INSIDE))}: "


def shown(attribute: Attribute, way: int = WHOLE) -> str:
    """The spelling of an attribute for a message; a very long one is cut off."""
    return spell(attribute, way, limit=_LONGEST_PREFIX)


# Compiled methods would refuse errors of other layers, which are not compiled.
@mypyc_attr(allow_interpreted_subclasses=True)
class TileIRError(Exception):
    """Base of the errors that carry diagnostics."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(diagnostics)
        self.diagnostics: list[Diagnostic] = diagnostics
        self.message: str = diagnostics[0].message if diagnostics else ""
        """The message of the first diagnostic."""

    @property
    def help(self) -> str:
        """The help of the first diagnostic: the change to make, or an empty string."""
        notes = self.diagnostics[0].notes if self.diagnostics else []
        return "; ".join([each.message for each in notes if each.severity == "help"])

    def __str__(self) -> str:
        return render_all(self.diagnostics)

    def __copy__(self) -> TileIRError:
        return self

    def __deepcopy__(self, memo: object) -> TileIRError:
        return self

    def __reduce__(self) -> Reduced:
        return HOOKS.reduce(self)

    def __init_subclass__(cls) -> None:
        _publish(cls)


def _publish(error: Any) -> None:
    """Public errors of this package are shown, and found, as those of `tileir.errors`."""
    if error.__module__.startswith("tileir.") and error.__name__.endswith(("Error", "Crash", "Timeout")):
        error.__module__ = "tileir.errors"


_publish(TileIRError)


class ParseError(TileIRError):
    """The text is not a program."""


class VerifyError(TileIRError):
    """The program breaks a rule of the dialect."""


@mypyc_attr(allow_interpreted_subclasses=True)
class OptionError(TileIRError):
    """An option has a value that it does not take; the message lists those that it does."""

    def __init__(self, message: str, code: Code | None = None, help: str = "") -> None:
        super().__init__([Diagnostic("error", message, UNKNOWN, [help_note(help)] if help else None, code)])


class VersionError(OptionError):
    """There is no such version of the dialect."""


class BuildError(TileIRError):
    """A program cannot be built from Python as requested; the message lists what is allowed."""

    def __init__(self, message: str, location: Location | None = None) -> None:
        super().__init__([Diagnostic("error", message, location if location is not None else UNKNOWN)])


class PassError(TileIRError):
    """A pass cannot do what was requested; it has not changed the program."""

    def __init__(self, message: str, location: Location, notes: list[Diagnostic] | None = None) -> None:
        super().__init__([Diagnostic("error", message, location, notes)])


class Invalid(Exception):
    """Raised by a verifier rule: the message after `'cuda_tile.x' op `, and the location if it is not the operation's.

    `bare` leaves the operation's name out, as a few of NVIDIA's messages do.
    """

    def __init__(
        self,
        message: str,
        location: Location | None = None,
        notes: list[Diagnostic] | None = None,
        bare: bool = False,
        code: Code | None = None,
    ) -> None:
        super().__init__(message)
        self.message: str = message
        self.location: Location | None = location
        self.notes: list[Diagnostic] = notes if notes is not None else []
        self.bare: bool = bare
        self.code: Code | None = code


def note(message: str, location: Location) -> Diagnostic:
    return Diagnostic("note", message, location)


def help_note(message: str) -> Diagnostic:
    """A note with the change to make."""
    return Diagnostic("help", message, UNKNOWN)


def has_errors(diagnostics: list[Diagnostic]) -> bool:
    return any(d.severity == "error" for d in diagnostics)
