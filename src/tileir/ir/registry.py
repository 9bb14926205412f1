"""The declarations of all operations, by name and by opcode, and of those nobody declared."""

from __future__ import annotations

from tileir.annotations import Callable, Final
from tileir.ir.declaration import SIDE_EFFECT, OperationDeclaration
from tileir.ir.interning import COMPOSITE, forget_with, intern, register


class Registry:
    """The declarations by name, those of aliases included, and by opcode.

    Those of a chapter are loaded when one of them is asked for, and the rest when all are.  `forget` empties the tables
    that others derive from all declarations, whenever one comes or goes.
    """

    __slots__ = ("_chapter_of", "_load", "_in_order", "_loaded", "_opcodes", "_order", "_waiting", "forget")

    def __init__(self) -> None:
        self._loaded: dict[str, OperationDeclaration] = {}
        self._opcodes: dict[int, OperationDeclaration] = {}
        # The chapters that are not loaded yet, and what is in all of them: by name, and by opcode as a text.
        self._waiting: list[str] = []
        self._chapter_of: dict[str, str] = {}
        self._order: dict[str, int] = {}
        self._in_order: bool = True
        self._load: Callable[[str], object] = str
        self.forget: list[Callable[[], None]] = []

    def expect(self, chapters: dict[str, str], load: Callable[[str], object]) -> None:
        """Tell what `load` of a chapter will add: the mnemonics in capitals, with opcodes as in `ADDF=2`.

        One of another dialect has its name in front, as in `BUILTIN.MODULE`.
        """
        self._load = load
        for chapter, entries in chapters.items():
            self._waiting.append(chapter)
            self._in_order = False
            for entry in entries.split():
                name, _, opcode = entry.partition("=")
                full = name.lower() if "." in name else f"cuda_tile.{name.lower()}"
                self._order[full] = len(self._order)
                self._chapter_of[full] = chapter
                if opcode:
                    self._chapter_of[opcode] = chapter

    @property
    def by_name(self) -> dict[str, OperationDeclaration]:
        """All declarations by name."""
        if not self._in_order:
            for chapter in list(self._waiting):
                self._loaded_chapter(chapter)
            # As if the chapters had been loaded in their order; what they do not have comes last, as it came.
            last = len(self._order)
            order = self._order
            rows = [(order.get(found.name, last), name) for name, found in self._loaded.items()]
            rows.sort(key=_place)
            self._loaded = {name: self._loaded[name] for _, name in rows}
            self._in_order = True
        return self._loaded

    def _loaded_chapter(self, chapter: str) -> None:
        self._load(chapter)
        # Replaced, not changed: another thread may have come here with the same chapter.
        self._waiting = [waiting for waiting in self._waiting if waiting != chapter]

    def find(self, name: str) -> OperationDeclaration | None:
        """The declaration of a name."""
        found = self._loaded.get(name)
        if found is None:
            chapter = self._chapter_of.get(name)
            if chapter is None:
                # An alias, or nothing.
                return self.by_name.get(name)
            # Asked again in any case: another thread may have loaded the chapter in between.
            if chapter in self._waiting:
                self._loaded_chapter(chapter)
            found = self._loaded.get(name)
        return found

    def with_opcode(self, opcode: int) -> OperationDeclaration | None:
        """The declaration with an opcode."""
        found = self._opcodes.get(opcode)
        if found is None:
            chapter = self._chapter_of.get(str(opcode))
            if chapter in self._waiting:
                self._loaded_chapter(chapter)
            found = self._opcodes.get(opcode)
        return found

    def loaded(self) -> list[OperationDeclaration]:
        """The declarations that something asked for so far."""
        return list(self._loaded.values())

    def add(self, declaration: OperationDeclaration) -> OperationDeclaration:
        dialect = declaration.name[: -len(declaration.mnemonic)]
        before = self._loaded.get(declaration.name)
        if before is not None and self._is_again(before, declaration):
            # An interrupt ended the loading of its chapter, which is loaded once more: programs may refer to the first.
            declaration = before
        for name in (declaration.mnemonic, declaration.newer_mnemonic, *declaration.aliases):
            if name is not None:
                if self._loaded.get(dialect + name, declaration) is not declaration:
                    raise ValueError(f"operation '{dialect}{name}' is declared twice")
                self._loaded[dialect + name] = declaration
        if declaration.opcode is not None:
            self._opcodes[declaration.opcode] = declaration
        if declaration.name not in self._order:
            self._changed()
        return declaration

    def _is_again(self, before: OperationDeclaration, declaration: OperationDeclaration) -> bool:
        """Whether a declaration of a chapter is one that is there already."""
        return (
            declaration.name in self._order
            and before is not declaration
            and before.chapter == declaration.chapter
            and before.opcode == declaration.opcode
            and before.summary == declaration.summary
        )

    def remove(self, declaration: OperationDeclaration) -> None:
        """Take back a declaration that was added."""
        for name in [name for name, found in self._loaded.items() if found is declaration]:
            del self._loaded[name]
        if declaration.opcode is not None and self._opcodes.get(declaration.opcode) is declaration:
            del self._opcodes[declaration.opcode]
        self._changed()

    def _changed(self) -> None:
        for each in self.forget:
            each()

    def declarations(self) -> list[OperationDeclaration]:
        """Each declaration once, in order of declaration."""
        return list(dict.fromkeys(self.by_name.values()))


def _place(row: tuple[int, str]) -> int:
    return row[0]


REGISTRY: Final = Registry()


def unregistered(name: str) -> OperationDeclaration:
    """A declaration for an operation nobody declared: anything goes, generic form only."""
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


def _forget_types() -> None:
    """Empty what remembers operations whose types were found right."""
    for declaration in REGISTRY.loaded():
        declaration.verified_types.clear()
    for declaration in list(_unregistered.values()):
        declaration.verified_types.clear()


forget_with(_forget_types)
