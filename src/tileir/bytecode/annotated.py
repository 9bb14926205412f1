"""A file with every byte explained: a tree of nodes that cover it without a gap and without an overlap.

The ordinary reader decodes the file and leaves a trace of what it read (`Trace`).  Here the spans of the trace get
names and meanings, are sorted by offset and nested, and bytes that no reader read get a node as well.  Nothing is
decoded here.
"""

from __future__ import annotations

from bisect import bisect_right

from tileir.annotations import Final
from tileir.bytecode import MAGIC, is_bytecode, records
from tileir.bytecode import container as sections
from tileir.bytecode.annotated_values import UNNAMED, Meanings, constant_uses, dense_text, field_name, tag_name
from tileir.bytecode.container import SECTION_NAMES, Container, read_container
from tileir.bytecode.documented.reader import DocumentedModuleReader
from tileir.bytecode.layouts import DOCUMENTED, layout_of
from tileir.bytecode.primitives import PADDING_BYTE, Malformed, Span, Trace
from tileir.bytecode.reader import ModuleReader
from tileir.dialect.ops import GLOBAL
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST, V13_1

_NUMBERED_GROUPS: Final = frozenset(["operation", "function", "global", "region", "block"])
# Fields that come in rows.
_ROWS: Final = frozenset(["entry", "first entry", "offset"])


class Node:
    """Some bytes with a name: a field, or a group of nodes that cover it.

    `value` is the number in the bytes, `meaning` what it stands for.  `operation` is what a group decoded to, `operand`
    the value a field refers to; the tool that shows the node prints them.
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
        self.children: list[Node] = []


class Annotated:
    """The fields of a decoded file.  `messages` are the errors that ended the reading, `failure` is their offset."""

    def __init__(self, data: bytes, layout: str) -> None:
        self.data: bytes = data
        self.layout: str = layout
        self.nodes: list[Node] = []
        self.module: Operation | None = None
        self.messages: list[str] = []
        self.failure: int = -1

    def fields(self) -> list[Node]:
        """The nodes without children, in file order."""
        found: list[Node] = []
        waiting = list(reversed(self.nodes))
        while waiting:
            node = waiting.pop()
            if node.children:
                waiting.extend(reversed(node.children))
            else:
                found.append(node)
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
    builder.documented = found.layout == DOCUMENTED
    if found.module is not None:
        for operation in found.module.regions[0].blocks[0]:
            (builder.globals if operation.declaration is GLOBAL else builder.functions).append(operation)
    if is_bytecode(data):
        builder.group(0, min(sections.HEADER_SIZE, len(data)), "header")
        builder.fields.append(Node(0, len(MAGIC), "magic", '"\\7fTileIR\\00"'))
    if file is not None:
        builder.add_sections(file)
        builder.add_tables(Meanings(file, reader, found.layout, constant_uses(trace)))
    builder.add_spans()
    found.nodes = builder.build()
    return found


class _Builder:
    """Collects groups and fields, then puts them together."""

    def __init__(self, data: bytes, trace: Trace, failure: int) -> None:
        self.data: bytes = data
        self.trace: Trace = trace
        self.failure: int = failure
        self.groups: list[Node] = []
        self.fields: list[Node] = []
        self.spans: dict[Node, Span] = {}
        self.meanings: Meanings | None = None
        self.documented: bool = False
        self.functions: list[Operation] = []
        self.globals: list[Operation] = []
        self.declared: list[tuple[Node, Operation]] = []
        self.version: tuple[int, int] = NEWEST

    def group(self, start: int, end: int, name: str, meaning: str = "") -> Node | None:
        if not 0 <= start < end <= len(self.data):
            return None
        node = Node(start, end, name, meaning)
        self.groups.append(node)
        return node

    def add_sections(self, file: Container) -> None:
        self.version = file.version
        for section in file.order:
            name = SECTION_NAMES[section.identifier]
            ignored = "" if file.sections[section.identifier] is section else "another one of this kind follows"
            self.group(section.header, section.end, f"section {name}", ignored)
            self.group(section.header, section.start, "section header")

    def add_tables(self, meanings: Meanings) -> None:
        """Add the entries of the tables; those that the program does not use are decoded now."""
        self.meanings = meanings
        for table, entries in meanings.tables():
            for index, (start, end) in enumerate(entries):
                if table != "string":
                    self.group(start, end, f"{table} {index}", meanings.entry(table, index))
                elif start < end:
                    self.fields.append(Node(start, end, f"string {index}", meanings.string(index)))

    def add_spans(self) -> None:
        """Take over what the reader left; a group that was never finished ends where reading did."""
        for span in self.trace.spans:
            end = span.end
            if span.is_group and end < 0:
                end = self.failure
            if not 0 <= span.start < end <= len(self.data):
                continue
            node = Node(span.start, end, span.what, "", span.value)
            self.spans[node] = span
            (self.groups if span.is_group else self.fields).append(node)

    def build(self) -> list[Node]:
        fields = _without_overlap(self.fields)
        groups = _nestable(self.groups, fields)
        root = Node(0, len(self.data), "file")
        self._nest(root, groups, self._with_gaps(fields, groups))
        self._name_all(root)
        return root.children

    def _with_gaps(self, fields: list[Node], groups: list[Node]) -> list[Node]:
        """The fields, and nodes for the unread bytes between them, split where a group begins or ends."""
        cuts = sorted({cut for group in groups for cut in (group.start, group.end)} | {len(self.data)})
        if self.failure > 0:
            cuts = sorted({*cuts, self.failure})
        found: list[Node] = []
        position = 0
        for field in [*fields, Node(len(self.data), len(self.data), "")]:
            while position < field.start:
                following = bisect_right(cuts, position)
                end = min(field.start, cuts[following] if following < len(cuts) else field.start)
                found.append(Node(position, end, self._name_of_gap(position, end)))
                position = end
            if field.end > field.start:
                found.append(field)
                position = field.end
        return found

    def _name_of_gap(self, start: int, end: int) -> str:
        if all(byte == PADDING_BYTE for byte in self.data[start:end]):
            return "padding"
        return "not used" if self.failure < 0 else "not decoded"

    def _nest(self, root: Node, groups: list[Node], leaves: list[Node]) -> None:
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

    def _name_all(self, root: Node) -> None:
        """Name all nodes.  An explicit stack, because regions may nest deeply."""
        groups: list[Node] = []
        waiting: list[tuple[Node, str]] = [(root, "file")]
        while waiting:
            parent, kind = waiting.pop()
            groups.append(parent)
            self._name(parent, kind, waiting)
        for group in reversed(groups):
            _collapse(group)
        for node, operation in self.declared:
            node.operation = operation

    def _name(self, parent: Node, kind: str, waiting: list[tuple[Node, str]]) -> None:
        """Give the fields of a group their names, and the groups in it theirs."""
        unnamed = iter(UNNAMED.get(kind, ()))
        numbers: dict[str, int] = {}
        for node in parent.children:
            span = self.spans.get(node)
            if node.children:
                waiting.append((node, self._name_group(node, span, numbers)))
            elif span is not None:
                given = next(unnamed, "number") if not span.what else ""
                node.name = _field_name(given, span, numbers, parent.operation)
                if isinstance(span.subject, Value):
                    node.operand = span.subject
                if span.value is not None:
                    node.meaning = self._meaning(node, span, span.value, parent, kind)

    def _name_group(self, node: Node, span: Span | None, numbers: dict[str, int]) -> str:
        """Name a group and return its kind."""
        if span is None:
            name = node.name
            if name.startswith("section ") and name != "section header":
                return name[len("section ") :]
            return name.rpartition(" ")[0] if name[-1].isdigit() else name
        if isinstance(span.subject, Operation):
            node.operation = span.subject
        elif isinstance(span.subject, DenseAttribute):
            node.meaning = dense_text(span.subject)
        elif isinstance(span.subject, Attribute):
            node.meaning = span.subject.bare_text
        kind = node.name
        if kind not in _NUMBERED_GROUPS:
            return "attribute"
        number = numbers.get(kind, 0)
        numbers[kind] = number + 1
        node.name = f"{kind} {number}"
        listed = self.functions if kind == "function" else self.globals if kind == "global" else []
        if number < len(listed):
            self.declared.append((node, listed[number]))
        return kind

    def _meaning(self, node: Node, span: Span, value: int, parent: Node, kind: str) -> str:
        name = node.name
        meanings = self.meanings
        if name == "section id":
            if value == sections.END:
                node.name = "end of sections"
            return _section_meaning(value)
        if name in ("tag", "attribute tag"):
            return tag_name(kind, value) if not self.documented and kind != "header" else ""
        if kind == "operation" and name in ("opcode", "flags"):
            return self._opcode_name(value, parent) if name == "opcode" else self._flag_names(parent, value)
        if meanings is None or span.table == "count":
            return ""
        return meanings.of(span.table, value) if span.table else meanings.of_field(kind, name, value)

    def _opcode_name(self, opcode: int, parent: Node) -> str:
        if parent.operation is not None:
            return parent.operation.declaration.spelled_name(self.version)
        record = None if self.documented else records.record_of(opcode, self.version)
        return record.declaration.spelled_name(self.version) if record is not None else ""

    def _flag_names(self, parent: Node, flags: int) -> str:
        opcode = parent.children[0].value
        record = None if opcode is None else records.record_of(opcode, self.version)
        if record is None:
            return ""
        bits = [(field.bit, field.name) for field in record.attributes]
        declared = record.declaration.operands
        bits += [(bit, o.name) for bit, o in zip(record.operand_bits, declared, strict=True)]
        present = [f"{bit}={name}" for bit, name in sorted(bits) if bit >= 0 and flags >> bit & 1]
        return ", ".join(present) if present else "none"


def _collapse(parent: Node) -> None:
    """An attribute of one field is one line, and so is a blob of one field."""
    for index, node in enumerate(parent.children):
        if len(node.children) != 1 or node.children[0].children or node.operation is not None:
            continue
        only = node.children[0]
        if only.name.startswith("string ") or node.name.startswith(("section", "region", "block", "operation")):
            continue
        only.name = node.name
        only.meaning = node.meaning or only.meaning
        parent.children[index] = only


def _field_name(given: str, span: Span, numbers: dict[str, int], operation: Operation | None) -> str:
    """The name of a field; `numbers` counts the items of each list in its group."""
    name = given or field_name(span.what)
    if name.startswith("operand "):
        return _operand_name(name, numbers, operation)
    if span.table == "count":
        numbers[name] = 0
        return f"{name} count"
    if name in numbers or name in _ROWS:
        number = numbers.get(name, 0)
        numbers[name] = number + 1
        return f"{name}[{number}]"
    return name


def _operand_name(name: str, numbers: dict[str, int], operation: Operation | None) -> str:
    """The declared name of an operand; one that is several values has a number too."""
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


def _without_overlap(fields: list[Node]) -> list[Node]:
    """The first of the fields that share bytes, in reading order; tables of invalid files may overlap."""
    order = sorted(range(len(fields)), key=lambda i: (fields[i].start, i))
    kept: list[Node] = []
    for index in order:
        if not kept or fields[index].start >= kept[-1].end:
            kept.append(fields[index])
    return kept


def _nestable(groups: list[Node], fields: list[Node]) -> list[Node]:
    """The groups that split neither a field nor another group, the outer ones first."""
    starts = [field.start for field in fields]
    found: list[Node] = []
    seen: set[tuple[int, int, str]] = set()
    order = sorted(range(len(groups)), key=lambda i: (groups[i].start, -groups[i].end, i))
    for index in order:
        group = groups[index]
        key = (group.start, group.end, group.name)
        if key not in seen and not _cuts(group.start, fields, starts) and not _cuts(group.end, fields, starts):
            seen.add(key)
            found.append(group)
    return found


def _cuts(position: int, fields: list[Node], starts: list[int]) -> bool:
    index = bisect_right(starts, position) - 1
    return index >= 0 and fields[index].start < position < fields[index].end
