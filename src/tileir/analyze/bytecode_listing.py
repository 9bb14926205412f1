"""A bytecode file as lines to read, every byte explained."""

from __future__ import annotations

import textwrap
from typing import Final

from tileir.bytecode.annotated import Annotated, Node
from tileir.text.listing import FirstLinePrinter

_WIDTH: Final = 120
_BYTES_IN_A_LINE: Final = 8
_BYTES_WIDTH: Final = 3 * _BYTES_IN_A_LINE - 1
_TEXT_WIDTH: Final = _WIDTH - 8 - 2 - _BYTES_WIDTH - 2
_NAME_WIDTH: Final = 34
_MOST_NAME: Final = 50
_MOST_INDENT: Final = 20
# The most lines of bytes of a field; the middle of a longer one is left out.
_MOST_ROWS: Final = 16


def meaning_of(node: Node, printer: FirstLinePrinter) -> str:
    """The text that explains a node."""
    if node.operation is not None:
        return printer.first_line(node.operation)
    if node.operand is not None:
        return f"{printer.name(node.operand)} : {node.operand.type.spelling}"
    return node.meaning


class Listing:
    """The dump as lines: offset, bytes, name by depth, number, meaning.

    `nodes` has for each line the node it shows, None for those of none; `around` the group that a node is in.
    """

    def __init__(self, found: Annotated, printer: FirstLinePrinter) -> None:
        self.found: Annotated = found
        self.printer: FirstLinePrinter = printer
        self.failed: bool = False
        self.out: list[str] = []
        self.nodes: list[Node | None] = []
        self.around: dict[Node, Node] = {}

    def lines(self, most: int | None = None) -> list[str]:
        """All lines, or the first ones: at least so many, if there are."""
        found = self.found
        self._add(f"{len(found.data)} bytes, {found.layout} layout")
        waiting: list[tuple[Node, int]] = [(node, 0) for node in reversed(found.nodes)]
        while waiting and (most is None or len(self.out) < most):
            node, depth = waiting.pop()
            if not node.children:
                self._failure(node.start)
            self._node(node, depth)
            self.nodes += [node] * (len(self.out) - len(self.nodes))
            waiting.extend([(child, depth + 1) for child in reversed(node.children)])
            self.around.update(dict.fromkeys(node.children, node))
        if not waiting:
            self._failure(len(found.data))
        return self.out

    def _add(self, line: str) -> None:
        self.out.append(line)
        self.nodes.append(None)

    def _failure(self, position: int) -> None:
        """Add the errors that ended the reading, before the first byte that was not read."""
        found = self.found
        if found.messages and not self.failed and position >= found.failure:
            self.failed = True
            for message in found.messages:
                rows = _wrapped(message, _WIDTH - 14)
                self._add(f"{found.failure:08x}  *** {rows[0]}")
                for row in rows[1:]:
                    self._add(f"{'':14}{row}")

    def _node(self, node: Node, depth: int) -> None:
        indent = " " * min(2 * depth, _MOST_INDENT)
        meaning = meaning_of(node, self.printer)
        if node.children:
            if not depth:
                self.out.append("")
            text = f"{node.name}: {meaning}" if meaning else node.name
            size = f"{node.end - node.start} bytes".rjust(_BYTES_WIDTH)
            rows = _wrapped(text, _TEXT_WIDTH - len(indent))
            self._row(f"{node.start:08x}", size, indent + rows[0])
            for row in rows[1:]:
                self._row("", "", indent + row)
            return
        number = "" if node.value is None else str(node.value)
        if meaning and number:
            meaning = f"{number:<5} {meaning}"
        name = f"{indent}{node.name}"
        name = (name if len(name) <= _MOST_NAME else name[: _MOST_NAME - 3] + "...").ljust(_NAME_WIDTH) + "  "
        texts = _wrapped(meaning or number, _TEXT_WIDTH - len(name))
        data = self.found.data[node.start : node.end]
        count = (len(data) + _BYTES_IN_A_LINE - 1) // _BYTES_IN_A_LINE
        for index in range(max(count, len(texts))):
            start = index * _BYTES_IN_A_LINE
            if count > _MOST_ROWS and _MOST_ROWS - 2 < index < count - 1:
                if index == _MOST_ROWS - 1:
                    self._row("...", f"{count - _MOST_ROWS} lines like this", "")
                continue
            text = texts[index] if index < len(texts) else ""
            offset = f"{node.start + start:08x}" if index < count else ""
            row = data[start : start + _BYTES_IN_A_LINE].hex(" ")
            self._row(offset, row, name + text if index == 0 else " " * len(name) + text)

    def _row(self, offset: str, data: str, text: str) -> None:
        self.out.append(f"{offset:8}  {data:{_BYTES_WIDTH}}  {text}".rstrip())


def _wrapped(text: str, width: int) -> list[str]:
    """A text as lines of a width, broken at blanks where there are any; those that follow are indented."""
    text = "".join([c if c.isprintable() else "?" for c in text])
    rows = textwrap.wrap(
        text, width, subsequent_indent="  ", max_lines=_MOST_ROWS, placeholder="...", break_on_hyphens=False
    )
    return rows or [""]
