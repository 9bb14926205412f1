"""Blocks too deep in a nest for the stack: put aside, printed into texts of their own, and put into their places."""

from __future__ import annotations

from tileir.ir.core import Block, Operation


class Aside:
    """A block to be printed later into a text of its own, as the printer stood, and its position in the text around."""

    __slots__ = ("block", "elide", "in_scopes", "indent", "omit", "position", "text")

    def __init__(
        self, block: Block, omit: Operation | None, indent: str, elide: bool, in_scopes: bool, position: int
    ) -> None:
        self.block: Block = block
        self.omit: Operation | None = omit
        self.indent: str = indent
        self.elide: bool = elide
        self.in_scopes: bool = in_scopes
        self.position: int = position
        self.text: PartedText = PartedText([], [])


class PartedText:
    """Pieces of text, and what has its place between them; `taken` of each are in the text around it already."""

    __slots__ = ("aside", "aside_taken", "out", "taken")

    def __init__(self, out: list[str], aside: list[Aside]) -> None:
        self.out: list[str] = out
        self.aside: list[Aside] = aside
        self.taken: int = 0
        self.aside_taken: int = 0

    def joined(self) -> str:
        """All of it, with what was put aside in its places."""
        found: list[str] = []
        path: list[PartedText] = [self]
        while path:
            top = path[-1]
            if top.aside_taken == len(top.aside):
                found.extend(top.out[top.taken :])
                path.pop()
            else:
                piece = top.aside[top.aside_taken]
                top.aside_taken += 1
                found.extend(top.out[top.taken : piece.position])
                top.taken = piece.position
                path.append(piece.text)
        return "".join(found)
