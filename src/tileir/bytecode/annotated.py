"""A file with every byte explained: a tree of pieces that cover it without a gap and without an overlap.

The ordinary reader decodes the file and leaves a trace of what it read (`trace.py`).  Here the spans of the trace get
names and meanings, are put into the order of the file and nested into one another, and the bytes nobody read get a
piece as well.  Nothing is decoded here.
"""

from __future__ import annotations

from bisect import bisect_right

from tileir.annotations import Final
from tileir.bytecode import container as sections
from tileir.bytecode import records
from tileir.bytecode.annotated_values import Meanings, constant_uses, dense_text, tag_name
from tileir.bytecode.container import MAGIC, SECTION_NAMES, Container, read_container
from tileir.bytecode.documented_reader import DocumentedModuleReader
from tileir.bytecode.field_names import UNNAMED, field_name
from tileir.bytecode.layouts import DOCUMENTED, layout_of
from tileir.bytecode.primitives import PADDING_BYTE, Malformed
from tileir.bytecode.reader import ModuleReader
from tileir.bytecode.trace import Span, Trace
from tileir.ir.attributes import Attribute, DenseAttribute
from tileir.ir.core import Operation, Value
from tileir.ir.declaration import NEWEST, V13_1

_HEADER_SIZE: Final = 12
# Fields that come in rows.
_ROWS: Final = frozenset(["entry", "first entry", "offset", "attribute offset"])


class Piece:
    """Some bytes with a name: a field, or a group of pieces that cover it.

    `value` is the number in the bytes, `meaning` what it stands for.  `operation` is what a group decoded to, `operand`
    the value a field refers to; their text is left to who shows the piece.
    """

    __slots__ = ("children", "end", "meaning", "name", "operand", "operation", "start", "value")

    def __init__(self, start: int, end: int, name: str, meaning: str = "", value: int | None = None) -> None:
        self.start: int = start
        self.end: int = end
        self.name: str = name
        self.meaning: str = meaning
        self.value: int | None = value
        self.operation: Operation | None = None
        self.operand: Value | None = None
        self.children: list[Piece] = []


class Annotated:
    """A file taken apart.  `messages` says why it could not be read to the end, `failure` where."""

    __slots__ = ("data", "failure", "layout", "messages", "module", "pieces")

    def __init__(self, data: bytes, layout: str) -> None:
        self.data: bytes = data
        self.layout: str = layout
        self.pieces: list[Piece] = []
        self.module: Operation | None = None
        self.messages: list[str] = []
        self.failure: int = -1

    def fields(self) -> list[Piece]:
        """The pieces that have no pieces, in file order."""
        found: list[Piece] = []
        waiting = list(reversed(self.pieces))
        while waiting:
            piece = waiting.pop()
            if piece.children:
                waiting.extend(reversed(piece.children))
            else:
                found.append(piece)
        return found


def annotate(data: bytes, layout: str | None = None) -> Annotated:
    """Take a file apart; one that cannot be read is taken apart as far as that goes."""
    found = Annotated(data, layout if layout is not None else layout_of(data))
    trace = Trace()
    file: Container | None = None
    reader: ModuleReader | None = None
    try:
        if found.layout == DOCUMENTED:
            file = read_container(data, V13_1, sections.ATTRIBUTE, trace)
            reader = DocumentedModuleReader(file)
        else:
            file = read_container(data, NEWEST, sections.PRODUCER, trace)
            reader = ModuleReader(file)
        found.module = reader.read()
    except Malformed as failure:
        found.messages = failure.messages
        found.failure = trace.failure if trace.failure >= 0 else max([span.end for span in trace.spans], default=0)
    builder = _Builder(data, trace, found.failure)
    builder.module = found.module
    if data[: len(MAGIC)] == MAGIC:
        builder.group(0, min(_HEADER_SIZE, len(data)), "header")
        builder.fields.append(Piece(0, len(MAGIC), "magic", '"\\7fTileIR\\00"'))
    if file is not None:
        builder.add_sections(file)
        builder.add_tables(Meanings(file, reader, found.layout, constant_uses(trace)))
    builder.add_spans()
    found.pieces = builder.build()
    return found


class _Builder:
    """Collects groups and fields, then puts them together."""

    def __init__(self, data: bytes, trace: Trace, failure: int) -> None:
        self.data: bytes = data
        self.trace: Trace = trace
        self.failure: int = failure
        self.groups: list[Piece] = []
        self.fields: list[Piece] = []
        self.spans: dict[Piece, Span] = {}
        self.meanings: Meanings | None = None
        self.module: Operation | None = None
        self.version: tuple[int, int] = NEWEST

    def group(self, start: int, end: int, name: str, meaning: str = "") -> Piece | None:
        if not 0 <= start < end <= len(self.data):
            return None
        piece = Piece(start, end, name, meaning)
        self.groups.append(piece)
        return piece

    def add_sections(self, file: Container) -> None:
        self.version = file.version
        for section in file.order:
            name = SECTION_NAMES[section.identifier]
            ignored = "" if file.sections[section.identifier] is section else "another one of this kind follows"
            self.group(section.header, section.end, f"section {name}", ignored)
            self.group(section.header, section.start, "section header")

    def add_tables(self, meanings: Meanings) -> None:
        """The entries of the tables; who was never asked for is decoded now."""
        self.meanings = meanings
        for index, (start, end) in enumerate(meanings.strings()):
            if start < end:
                self.fields.append(Piece(start, end, f"string {index}", meanings.string(index), None))
        for table, entries in meanings.tables():
            for index, (start, end) in enumerate(entries):
                self.group(start, end, f"{table} {index}", meanings.entry(table, index))

    def add_spans(self) -> None:
        """Take over what the reader left; a group that was never finished ends where reading did."""
        for span in self.trace.spans:
            end = span.end
            if span.is_group and end < 0:
                end = self.failure
            if not 0 <= span.start < end <= len(self.data):
                continue
            piece = Piece(span.start, end, span.what, "", span.value)
            self.spans[piece] = span
            (self.groups if span.is_group else self.fields).append(piece)

    def build(self) -> list[Piece]:
        fields = _without_overlap(self.fields)
        groups = _nestable(self.groups, fields)
        root = Piece(0, len(self.data), "file")
        self._nest(root, groups, self._with_gaps(fields, groups))
        self._name(root, "file")
        return root.children

    def _with_gaps(self, fields: list[Piece], groups: list[Piece]) -> list[Piece]:
        """The fields, and between them what nobody read, cut where a group begins or ends."""
        cuts = sorted({cut for group in groups for cut in (group.start, group.end)} | {len(self.data)})
        if self.failure > 0:
            cuts = sorted({*cuts, self.failure})
        found: list[Piece] = []
        position = 0
        for field in [*fields, Piece(len(self.data), len(self.data), "")]:
            while position < field.start:
                following = bisect_right(cuts, position)
                end = min(field.start, cuts[following] if following < len(cuts) else field.start)
                found.append(Piece(position, end, self._name_of_gap(position, end)))
                position = end
            if field.end > field.start:
                found.append(field)
                position = field.end
        return found

    def _name_of_gap(self, start: int, end: int) -> str:
        if all(byte == PADDING_BYTE for byte in self.data[start:end]):
            return "padding"
        return "not used" if self.failure < 0 else "not decoded"

    def _nest(self, root: Piece, groups: list[Piece], leaves: list[Piece]) -> None:
        stack = [root]
        following = 0
        for leaf in leaves:
            while following < len(groups) and groups[following].start <= leaf.start:
                group = groups[following]
                following += 1
                while stack[-1].end <= group.start:
                    stack.pop()
                if group.end <= stack[-1].end:
                    stack[-1].children.append(group)
                    stack.append(group)
            while stack[-1].end <= leaf.start:
                stack.pop()
            stack[-1].children.append(leaf)

    # --- names and meanings ---

    def _name(self, parent: Piece, kind: str) -> None:
        """Give the fields of a group their names, and the groups in it theirs."""
        unnamed = iter(UNNAMED.get(kind, ()))
        numbers: dict[str, int] = {}
        for piece in parent.children:
            span = self.spans.get(piece)
            if piece.children:
                self._name_group(piece, span, numbers)
            elif span is not None:
                self._name_field(piece, span, next(unnamed, "number") if not span.what else "", numbers, parent, kind)
        self._collapse(parent)

    def _name_group(self, piece: Piece, span: Span | None, numbers: dict[str, int]) -> None:
        kind = piece.name.rpartition(" ")[0] if piece.name[-1].isdigit() else piece.name
        if kind.startswith("section "):
            kind = kind[len("section ") :] if kind != "section header" else kind
        if span is not None:
            if isinstance(span.subject, Operation):
                piece.operation = span.subject
            elif isinstance(span.subject, DenseAttribute):
                piece.meaning = dense_text(span.subject)
            elif isinstance(span.subject, Attribute):
                piece.meaning = span.subject.bare_text
            if piece.name in ("operation", "function", "global", "region", "block"):
                number = numbers.get(piece.name, 0)
                numbers[piece.name] = number + 1
                piece.name = f"{piece.name} {number}"
            else:
                kind = "attribute"
        self._name(piece, kind)
        if kind in ("function", "global") and self.module is not None and span is not None:
            piece.operation = self._declared(kind, numbers[kind] - 1)

    def _declared(self, kind: str, number: int) -> Operation | None:
        """The function or global of a number."""
        if self.module is None:
            return None
        name = "cuda_tile.global" if kind == "global" else "cuda_tile.entry"
        found = [operation for operation in self.module.regions[0].blocks[0] if operation.name == name]
        return found[number] if number < len(found) else None

    def _name_field(
        self, piece: Piece, span: Span, given: str, numbers: dict[str, int], parent: Piece, kind: str
    ) -> None:
        name = given or field_name(span.what)
        if name.startswith("operand "):
            name = _operand_name(name, numbers, parent.operation)
        elif span.table == "count":
            numbers[name] = 0
            name = f"{name} count"
        elif name in numbers:
            numbers[name] += 1
            name = f"{name}[{numbers[name] - 1}]"
        elif name in _ROWS:
            numbers[name] = 1
            name = f"{name}[0]"
        piece.name = name
        if isinstance(span.subject, Value):
            piece.operand = span.subject
        meanings = self.meanings
        if name == "section id" and span.value is not None:
            piece.meaning = _section_meaning(span.value)
            if span.value == sections.END:
                piece.name = "end of sections"
        elif span.table and span.table != "count" and span.value is not None and meanings is not None:
            piece.meaning = meanings.of(span.table, span.value)
        elif name in ("tag", "attribute tag") and span.value is not None:
            piece.meaning = tag_name(kind, span.value)
        elif parent.operation is not None and name == "opcode":
            piece.meaning = parent.operation.declaration.spelled_name(self.version)
        elif parent.operation is not None and name == "flags" and span.value is not None:
            piece.meaning = self._flag_names(parent.operation, span.value)
        elif meanings is not None and span.value is not None:
            piece.meaning = meanings.of_field(kind, name, span.value)

    def _flag_names(self, operation: Operation, flags: int) -> str:
        opcode = operation.declaration.opcode
        record = records.records_of(self.version).get(opcode if opcode is not None else -1)
        if record is None:
            return ""
        bits = [(field.bit, field.name) for field in record.attributes]
        declared = operation.declaration.operands
        bits += [(bit, o.name) for bit, o in zip(record.operand_bits, declared, strict=True)]
        present = [f"{bit}={name}" for bit, name in sorted(bits) if bit >= 0 and flags >> bit & 1]
        return ", ".join(present) if present else "none"

    def _collapse(self, parent: Piece) -> None:
        """An attribute of one field is one line, and so is a blob of one field."""
        for index, piece in enumerate(parent.children):
            if len(piece.children) == 1 and not piece.children[0].children and piece.operation is None:
                only = piece.children[0]
                if only.name.startswith("string ") or piece.name.startswith(("section", "region", "block")):
                    continue
                only.name = piece.name
                only.meaning = piece.meaning or only.meaning
                parent.children[index] = only


def _operand_name(name: str, numbers: dict[str, int], operation: Operation | None) -> str:
    """Operands are called as they are declared; those that stand for several values are numbered."""
    if name.endswith(" count"):
        numbers[name.removesuffix(" count") + "[0]"] = 0
        return name
    if operation is not None and operation.declaration.plain_operands:
        number = int(name.rpartition(" ")[2])
        declared = operation.declaration.operands
        return f"operand {declared[number].name}" if number < len(declared) else name
    return name.removesuffix("[0]") if name.endswith("[0]") and name not in numbers else name


def _section_meaning(marker: int) -> str:
    name = SECTION_NAMES.get(marker & 0x7F, "unknown")
    return f"{name}, with alignment" if marker & 0x80 else name


def _without_overlap(fields: list[Piece]) -> list[Piece]:
    """Of fields that share bytes the first one read; tables of odd files may point to the same place."""
    order = sorted(range(len(fields)), key=lambda i: (fields[i].start, i))
    kept: list[Piece] = []
    for index in order:
        if not kept or fields[index].start >= kept[-1].end:
            kept.append(fields[index])
    return kept


def _nestable(groups: list[Piece], fields: list[Piece]) -> list[Piece]:
    """The groups that neither cut a field nor one another, from the outside in."""
    starts = [field.start for field in fields]
    found: list[Piece] = []
    seen: set[tuple[int, int, str]] = set()
    order = sorted(range(len(groups)), key=lambda i: (groups[i].start, -groups[i].end, i))
    for index in order:
        group = groups[index]
        key = (group.start, group.end, group.name)
        if key not in seen and not _cuts(group.start, fields, starts) and not _cuts(group.end, fields, starts):
            seen.add(key)
            found.append(group)
    return found


def _cuts(position: int, fields: list[Piece], starts: list[int]) -> bool:
    index = bisect_right(starts, position) - 1
    return index >= 0 and fields[index].start < position < fields[index].end
