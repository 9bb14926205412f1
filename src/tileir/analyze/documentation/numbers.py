"""What a number in bytecode means: opcodes, tags of types and attributes, sections."""

from __future__ import annotations

import re

from tileir.analyze.documentation.pages import Page, Paragraph, Section, Table, operation_page, operations
from tileir.annotations import Final
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.versions import V13_1, Version, version_text

_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]{1,8}|[0-9]{1,9}")
_WHERE: Final = "`tileir objdump FILE` shows what each byte of a file is."


def number_pages(text: str) -> list[Page]:
    """All that a number in bytecode means, in either base, then the page of its operation; none if it means nothing."""
    if not _NUMBER.fullmatch(text):
        return []
    number = int(text, 0 if text[:2] in ("0x", "0X") else 10)
    found = [declaration for declaration in operations() if declaration.opcode == number]
    rows = _meanings(number, found)
    pages = [operation_page(declaration) for declaration in found]
    if len(rows) > len(pages):
        summary = f"{number} in bytecode; where it stands decides which of these it is" if rows[1:] else "in bytecode"
        blocks = (Table(("place", "meaning"), tuple(rows)), Paragraph(_WHERE))
        pages.insert(0, Page(f"{number:#04x}", "Bytecode", summary, (), (Section("Meanings", blocks),)))
    return pages


def _meanings(number: int, found: list[OperationDeclaration]) -> list[tuple[str, str]]:
    # Imported here: few look numbers up, and the readers of bytecode are large.
    from tileir.bytecode.annotated_values import ATTRIBUTE_TAGS, DEBUG_TAGS, TYPE_TAGS
    from tileir.bytecode.container import ATTRIBUTE, SECTION_NAMES
    from tileir.bytecode.types import SCALARS, TAG_GATES

    rows = [("opcode", f"`{each.mnemonic}`: {each.summary}{_since(each.since)}") for each in found]
    type = SCALARS[number].spelling if number in SCALARS else TYPE_TAGS.get(number)
    if type is not None:
        rows.append(("type tag", f"`{type}`{_since(TAG_GATES[number][1] if number in TAG_GATES else None)}"))
    if 0 < number < len(ATTRIBUTE_TAGS):
        rows.append(("attribute tag", f"`{ATTRIBUTE_TAGS[number]}`, in the public layout"))
    if number < len(DEBUG_TAGS):
        rows.append(("debug attribute tag", DEBUG_TAGS[number]))
    # The highest bit of a section's first byte means that an alignment follows.
    section = SECTION_NAMES.get(number & 0x7F) if number < 0x100 else None
    if section is not None and number != 0x80:
        aligned = ", with an alignment" if number & 0x80 else ""
        only = ", in the documented layout" if number & 0x7F == ATTRIBUTE else ""
        rows.append(("section id", f"{section}{aligned}{only}"))
    return rows


def _since(version: Version | None) -> str:
    return f" (since {version_text(version)})" if version is not None and version > V13_1 else ""
