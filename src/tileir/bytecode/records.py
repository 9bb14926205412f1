"""How the bytecode of an operation follows from its declaration (docs/reference/bytecode.md sections 6 and 10).

No record is written per operation: the order of results, flags, attributes, operands and regions, the bits of the
flags and the gates by version all follow from the one declaration.  In the documented layout a record has seven fields
(the bytecode draft, "Encoding Walk"): opcode, location, result types, operand count, operands, dictionary, regions.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.enums import enum_kind_of
from tileir.dialect.ops import ENTRY, GLOBAL, MODULE
from tileir.dialect.types import TOKEN
from tileir.ir.attributes import FIRST_DRAFT_ONLY_VALUE, Attribute, EnumAttribute, EnumKind, StringAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import ONE, OPTIONAL, VARIADIC, AttributeDeclaration, OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import SEGMENTS
from tileir.ir.types import Type
from tileir.ir.versions import V13_1, Version

# How an attribute is written.
ENUM: Final = 0
INTEGER: Final = 1
BOOL: Final = 2
STRING: Final = 3
SYMBOL: Final = 4
CONSTANT: Final = 5
I32_LIST: Final = 6
BOOL_LIST: Final = 7
ARRAY: Final = 8
HINTS: Final = 9
TAGGED: Final = 10
UNIT: Final = 11

_CODECS: Final[dict[str, int]] = {
    "enum": ENUM,
    "i32": INTEGER,
    "i64": INTEGER,
    "bool": BOOL,
    "string": STRING,
    "symbol_name": STRING,
    "symbol": SYMBOL,
    "dense": CONSTANT,
    "i32_array": I32_LIST,
    "bool_array": BOOL_LIST,
    "array": ARRAY,
    "hints": HINTS,
    "predicate": TAGGED,
    "unit": UNIT,
}

# How operands are written.
FIXED: Final = 0
COUNTED: Final = 1
SEGMENTED: Final = 2

# Operations that are sections of the file, never instructions.
_STRUCTURAL: Final = frozenset([ENTRY, GLOBAL, MODULE])


# The last opcode of the bytecode draft's dispatcher.
MAXIMUM_OPCODE: Final = 109
FIRST_PREVIEW_OPCODE: Final = 0x4000  # Operations of public previews are numbered apart from the others.
SEGMENT_SIZES: Final = "operandSegmentSizes"


class AttributeField:
    """One attribute of a record; `bit` is its flag, -1 when it is always there, `gated` when it is newer."""

    def __init__(self, declared: AttributeDeclaration, bit: int, gated: bool, since: Version) -> None:
        self.name: str = declared.name
        self.codec: int = _CODECS[declared.constraint.kind]
        self.bit: int = bit
        self.gated: bool = gated
        self.since: Version = since
        self.default: Attribute | None = declared.default
        self.optional: bool = declared.optional
        self.width: int = 32 if declared.constraint.kind == "i32" else 64
        self.cases: list[EnumAttribute] = _cases(declared)


def _cases(declared: AttributeDeclaration) -> list[EnumAttribute]:
    """The enumerators by wire value."""
    kind = enum_kind_of(declared)
    return [] if kind is None else enumerators(kind)


def enumerators(kind: EnumKind) -> list[EnumAttribute]:
    public = [(value, name) for name, value in kind.values.items() if value < FIRST_DRAFT_ONLY_VALUE]
    return [kind[name] for _, name in sorted(public)]


class Record:
    """The layout of one operation at one version."""

    def __init__(self, declaration: OperationDeclaration, version: Version) -> None:
        self.declaration: OperationDeclaration = declaration
        self.opcode: int = declaration.opcode if declaration.opcode is not None else -1
        # As NVIDIA's messages name it.
        self.class_name: str = declaration.class_name + "Op"
        self.counted_results: bool = any(d.count == VARIADIC for d in (*declaration.operands, *declaration.results))
        first = declaration.since if declaration.since is not None else V13_1
        self.late_results: list[Type] = [
            TOKEN for r in declaration.results if r.since is not None and r.since > version
        ]
        self.result_count: int = len(declaration.results) - len(self.late_results)
        # Where results came later, their stated number must be the one of the version.
        self.later_results: bool = any(r.since is not None and r.since > first for r in declaration.results)
        bits = _allocate_bits(declaration, version, first)
        self.has_flags: bool = bool(bits)
        self.attributes: list[AttributeField] = [
            AttributeField(
                a,
                bits.get(a.name, -1),
                _newer(a.since, version),
                a.since if a.since is not None else first,
            )
            for a in declaration.attributes
        ]
        segmented = bool(declaration.traits & SEGMENTS)
        self.operand_mode: int = SEGMENTED if segmented else FIXED if declaration.plain_operands else COUNTED
        # Whether the record encodes which operands belong to which declared name.
        self.has_groups: bool = segmented or self.has_flags
        self.operand_count: int = len(declaration.operands)
        self.operand_bits: list[int] = [
            -2 if _newer(o.since, version) else bits.get(o.name, -1) for o in declaration.operands
        ]
        self.region_count: int = len(declaration.regions)

    def group_sizes(self, flags: int) -> list[int]:
        """How many operands each group has, -1 where it is counted in front of them; only segments have groups."""
        if self.operand_mode != SEGMENTED:
            return [self.operand_count if self.operand_mode == FIXED else -1]
        sizes: list[int] = []
        for index, declared in enumerate(self.declaration.operands):
            bit = self.operand_bits[index]
            if declared.count == ONE:
                sizes.append(1)
            elif declared.count == VARIADIC:
                sizes.append(-1)
            else:
                sizes.append(1 if bit >= 0 and flags >> bit & 1 else 0)
        return sizes


def _newer(since: Version | None, version: Version) -> bool:
    return since is not None and since > version


def _allocate_bits(declaration: OperationDeclaration, version: Version, first: Version) -> dict[str, int]:
    """Flag bits: by introducing version, then attributes, then operands, each in order of declaration."""
    flagged: list[tuple[Version, int, str]] = []
    for a in declaration.attributes:
        is_list = a.constraint.kind == "bool_array"
        if (a.optional and not is_list) and not _newer(a.since, version):
            flagged.append((a.since if a.since is not None else first, 0, a.name))
    if declaration.traits & SEGMENTS:
        for o in declaration.operands:
            if o.count == OPTIONAL and not _newer(o.since, version):
                flagged.append((o.since if o.since is not None else first, 1, o.name))
    # Sorting is stable, so declaration order is kept within one version and kind.
    flagged.sort(key=_flag_order)
    return {name: bit for bit, (_, _, name) in enumerate(flagged)}


def _flag_order(item: tuple[Version, int, str]) -> tuple[Version, int]:
    return item[0], item[1]


def is_private(operation: Operation) -> bool:
    """Whether a function is private: MLIR's visibility, of which bytecode has a flag for this one."""
    visibility = operation.attributes.get("sym_visibility")
    return isinstance(visibility, StringAttribute) and visibility.value == "private"


_records: Final[dict[Version, dict[int, Record]]] = {}
_by_declaration: Final[dict[Version, dict[OperationDeclaration, Record]]] = {}
REGISTRY.forget.append(lambda: _records.clear())
REGISTRY.forget.append(lambda: _by_declaration.clear())


def records_by_declaration(version: Version) -> dict[OperationDeclaration, Record]:
    found = _by_declaration.get(version)
    if found is None:
        found = {record.declaration: record for record in records_of(version).values()}
        _by_declaration[version] = found
    return found


def _is_recorded(declaration: OperationDeclaration, version: Version) -> bool:
    since = declaration.since
    return since is not None and since <= version and declaration not in _STRUCTURAL


def _opcodes(version: Version) -> list[int]:
    """The opcodes of a version, in order of declaration."""
    return [each.opcode for each in REGISTRY.declarations() if each.opcode is not None and _is_recorded(each, version)]


def record_of(opcode: int, version: Version) -> Record | None:
    used = _records.setdefault(version, {})
    found = used.get(opcode)
    if found is None:
        declaration = REGISTRY.with_opcode(opcode)
        if declaration is not None and _is_recorded(declaration, version):
            found = used[opcode] = Record(declaration, version)
    return found


def records_of(version: Version) -> dict[int, Record]:
    found: dict[int, Record] = {}
    for opcode in _opcodes(version):
        record = record_of(opcode, version)
        if record is not None:
            found[opcode] = record
    return found


def maximum_opcode(version: Version) -> int:
    return max([opcode for opcode in _opcodes(version) if opcode < FIRST_PREVIEW_OPCODE])


# --- the documented layout (docs/reference/bytecode.md section 10) ---


class Schema:
    """The attributes a dictionary may hold because its owner declares them."""

    def __init__(self, fields: list[AttributeField]) -> None:
        self.fields: list[AttributeField] = fields
        self.names: dict[str, AttributeField] = {field.name: field for field in fields}
        self.required: list[str] = [f.name for f in fields if not f.optional and not f.gated and f.default is None]
        # Its type is the owner's, so one dictionary can have different attributes.
        self.has_constant: bool = any(field.codec == CONSTANT for field in fields)


class DocumentedRecord(Record):
    """The layout of one operation."""

    def __init__(self, declaration: OperationDeclaration) -> None:
        super().__init__(declaration, V13_1)
        # The number of operands is always there, so only the results can leave their number open.
        self.counted_results = any(r.count == VARIADIC for r in declaration.results)
        self.schema: Schema = Schema(self.attributes)
        # Operands of later versions are none in a file of 13.1.
        self.kept_operands: list[int] = [index for index, bit in enumerate(self.operand_bits) if bit != -2]
        open_ended = sum(1 for index in self.kept_operands if declaration.operands[index].count != ONE)
        self.segmented: bool = bool(declaration.traits & SEGMENTS) and open_ended > 1

    def segments_of(self, total: int, sizes: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """The length of each declared operand, or None when `total` operands cannot be divided like that."""
        operands = self.declaration.operands
        kept = self.kept_operands
        if not self.segmented:
            single = sum(1 for index in kept if operands[index].count == ONE)
            sizes = tuple([1 if operands[index].count == ONE else total - single for index in kept])
        if sizes is None or len(sizes) != len(kept):
            return None
        lengths = [0] * len(operands)
        for index, size in zip(kept, sizes, strict=True):
            count = operands[index].count
            if size < 0 or (count == ONE and size != 1) or (count == OPTIONAL and size > 1):
                return None
            lengths[index] = size
        return tuple(lengths) if sum(lengths) == total else None


_documented: Final[dict[int, DocumentedRecord]] = {}
_schemas: Final[dict[OperationDeclaration, Schema]] = {}
REGISTRY.forget.append(lambda: _documented.clear())


def documented_records() -> dict[int, DocumentedRecord]:
    if not _documented:
        for opcode, record in records_of(V13_1).items():
            if opcode <= MAXIMUM_OPCODE:
                _documented[opcode] = DocumentedRecord(record.declaration)
    return _documented


# What the entries of the function and global sections encode outside of their dictionaries.
OUTSIDE_DICTIONARY: Final = ("sym_name", "function_type")


def section_schema(declaration: OperationDeclaration) -> Schema:
    """The schema of `entry` or `global`, whose records are entries of a section."""
    found = _schemas.get(declaration)
    if found is None:
        declared = [a for a in declaration.attributes if a.name not in OUTSIDE_DICTIONARY]
        found = _schemas[declaration] = Schema([_field(attribute) for attribute in declared])
    return found


def _field(declared: AttributeDeclaration) -> AttributeField:
    since = declared.since if declared.since is not None else V13_1
    return AttributeField(declared, -1, since > V13_1, since)
