"""What a reader leaves behind when asked to: which bytes it read, what for, and what came of them.

The annotated dump is made from this, so each layout is decoded in one place only.  A reader without a trace does
nothing of it.
"""

from __future__ import annotations


class Span:
    """Some bytes of a file: one field, or a group of fields (`is_group`).

    `what` is the reader's word for it; for a field, the line it would have failed with.  `table` names the table a
    number is an index of.  `subject` is what was decoded: an attribute, a value, an operation.  A group that was never
    finished ends at -1.
    """

    __slots__ = ("end", "is_group", "start", "subject", "table", "value", "what")

    def __init__(self, start: int, end: int, what: str, value: int | None, is_group: bool) -> None:
        self.start: int = start
        self.end: int = end
        self.what: str = what
        self.value: int | None = value
        self.is_group: bool = is_group
        self.table: str = ""
        self.subject: object = None


class Trace:
    """The spans of a file in the order they were read, which is not the order of the file."""

    __slots__ = ("failure", "spans")

    def __init__(self) -> None:
        self.spans: list[Span] = []
        # Where the reader that failed last stood.
        self.failure: int = -1

    def field(self, start: int, end: int, what: str, value: int | None) -> None:
        if end > start:
            self.spans.append(Span(start, end, what, value, False))

    def fields(self, start: int, size: int, what: str, values: list[int]) -> None:
        """A row of numbers of `size` bytes each."""
        for index, value in enumerate(values):
            self.spans.append(Span(start + index * size, start + (index + 1) * size, what, value, False))

    def refer(self, table: str, what: str = "") -> None:
        """Say which table the last number is an index of, and what for where the field has no word of its own."""
        if self.spans:
            last = self.spans[-1]
            last.table = table
            last.what = what or last.what

    def join(self, start: int, end: int, value: int) -> None:
        """Take the fields from `start` on as one number."""
        what = ""
        while self.spans and self.spans[-1].start >= start and self.spans[-1].end <= end:
            what = self.spans.pop().what
        self.field(start, end, what, value)

    def open(self, what: str, start: int) -> Span:
        """Begin a group."""
        span = Span(start, -1, what, None, True)
        self.spans.append(span)
        return span

    def close(self, span: Span, end: int, subject: object) -> None:
        span.end = end
        span.subject = subject
