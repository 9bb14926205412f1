"""The declarations of all operations, by name and by opcode, and those of undeclared operations."""

from __future__ import annotations

from tileir.annotations import Callable, Final
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.interning import COMPOSITE, intern, register
from tileir.ir.traits import SIDE_EFFECT


class Registry:
    """The declarations by name, those of aliases included, and by opcode.

    A chapter is loaded when one of its declarations is requested, all are when `by_name` is.  `forget` has functions
    that empty tables derived from all declarations; `add` and `remove` call them.
    """

    def __init__(self) -> None:
        self._loaded: dict[str, OperationDeclaration] = {}
        self._by_opcode: dict[int, OperationDeclaration] = {}
        self._chapter_of_name: dict[str, str] = {}
        self._chapter_of_opcode: dict[int, str] = {}
        self._waiting: set[str] = set()
        self._is_sorted: bool = True
        self._load: Callable[[str], list[OperationDeclaration]] = lambda chapter: []
        self.forget: list[Callable[[], None]] = []

    def expect(self, chapters: dict[str, str], load: Callable[[str], list[OperationDeclaration]]) -> None:
        """Take the index of chapters that `load` reads: names in capitals with opcodes, `ADDF=2 BUILTIN.MODULE`."""
        self._load = load
        for chapter, entries in chapters.items():
            self._waiting.add(chapter)
            for entry in entries.split():
                name, _, opcode = entry.lower().partition("=")
                self._chapter_of_name[name if "." in name else f"cuda_tile.{name}"] = chapter
                if opcode:
                    self._chapter_of_opcode[int(opcode)] = chapter

    @property
    def by_name(self) -> dict[str, OperationDeclaration]:
        """All declarations by name: in the order of the index, then in the order in which they were added."""
        for chapter in sorted(self._waiting):
            self._load_chapter(chapter)
        if not self._is_sorted:
            order = {name: number for number, name in enumerate(self._chapter_of_name)}
            self._loaded = dict(sorted(self._loaded.items(), key=lambda row: order.get(row[1].name, len(order))))
            self._is_sorted = True
        return self._loaded

    def _load_chapter(self, chapter: str | None) -> None:
        # Several threads may load one chapter, and an interrupt may end this anywhere: adding twice is harmless.
        if chapter is not None and chapter in self._waiting:
            for declaration in self._load(chapter):
                self.add(declaration)
            self._is_sorted = False
            self._waiting.discard(chapter)

    def find(self, name: str) -> OperationDeclaration | None:
        """The declaration of a name."""
        found = self._loaded.get(name)
        if found is None:
            chapter = self._chapter_of_name.get(name)
            if chapter is None:
                # An alias, or nothing.
                return self.by_name.get(name)
            self._load_chapter(chapter)
            found = self._loaded.get(name)
        return found

    def with_opcode(self, opcode: int) -> OperationDeclaration | None:
        found = self._by_opcode.get(opcode)
        if found is None:
            self._load_chapter(self._chapter_of_opcode.get(opcode))
            found = self._by_opcode.get(opcode)
        return found

    def loaded(self) -> list[OperationDeclaration]:
        """The declarations loaded so far."""
        return list(self._loaded.values())

    def add(self, declaration: OperationDeclaration) -> OperationDeclaration:
        dialect = declaration.name[: -len(declaration.mnemonic)]
        for name in (declaration.mnemonic, declaration.newer_mnemonic, *declaration.aliases):
            if name is not None:
                if self._loaded.get(dialect + name, declaration) is not declaration:
                    raise ValueError(f"operation '{dialect}{name}' is declared twice")
                self._loaded[dialect + name] = declaration
        if declaration.opcode is not None:
            if self._by_opcode.get(declaration.opcode, declaration) is not declaration:
                raise ValueError(f"operation '{declaration.name}' has the opcode of another, {declaration.opcode:#x}")
            self._by_opcode[declaration.opcode] = declaration
        if declaration.name not in self._chapter_of_name:
            self._changed()
        return declaration

    def remove(self, declaration: OperationDeclaration) -> None:
        """Take back a declaration that was added."""
        for name in [name for name, found in self._loaded.items() if found is declaration]:
            del self._loaded[name]
        if declaration.opcode is not None and self._by_opcode.get(declaration.opcode) is declaration:
            del self._by_opcode[declaration.opcode]
        self._changed()

    def _changed(self) -> None:
        for each in self.forget:
            each()

    def declarations(self) -> list[OperationDeclaration]:
        """Each declaration once, in the order of the index."""
        return list(dict.fromkeys(self.by_name.values()))

    def with_traits(self, traits: int) -> tuple[OperationDeclaration, ...]:
        return tuple([each for each in self.declarations() if each.traits & traits == traits])


REGISTRY: Final = Registry()


def unregistered(name: str) -> OperationDeclaration:
    """A declaration for an undeclared operation: everything is allowed, generic form only."""
    found = _unregistered.get(name)
    if found is None:
        dialect, _, mnemonic = name.rpartition(".")
        found = OperationDeclaration(
            mnemonic, chapter="unregistered", summary="", since=None, dialect=dialect, traits=SIDE_EFFECT
        )
        found.name = name
        found.unregistered = True
        found = intern(_unregistered, name, found, 4)
    return found


_unregistered: Final[dict[str, OperationDeclaration]] = {}
register(_unregistered, COMPOSITE)
