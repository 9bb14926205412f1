"""How an operation is laid out in the documented layout, derived from its declaration (docs/bytecode.md section 10).

Seven fields (the bytecode draft, "Encoding Walk"): opcode, location, result types, operand count, operands, dictionary,
regions. Everything that is not a type, an operand or a region is in the dictionary.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode import records
from tileir.bytecode.records import AttributeField, Record
from tileir.ir.declaration import ONE, OPTIONAL, SEGMENTS, VARIADIC, AttributeDeclaration, OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.versions import V13_1

# The last opcode of the bytecode draft's dispatcher.
MAXIMUM_OPCODE: Final = 109
SEGMENT_SIZES: Final = "operandSegmentSizes"


class Schema:
    """The attributes a dictionary may hold because its owner declares them."""

    __slots__ = ("fields", "has_constant", "names", "required")

    def __init__(self, fields: list[AttributeField]) -> None:
        self.fields: list[AttributeField] = fields
        self.names: dict[str, AttributeField] = {field.name: field for field in fields}
        self.required: list[str] = [f.name for f in fields if not f.optional and not f.gated and f.default is None]
        # Its type is the owner's, so one dictionary can give different attributes.
        self.has_constant: bool = any(field.codec == records.CONSTANT for field in fields)


class DocumentedRecord(Record):
    """The layout of one operation."""

    __slots__ = ("kept_operands", "schema", "segmented")

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


_records: Final[dict[int, DocumentedRecord]] = {}
_schemas: Final[dict[OperationDeclaration, Schema]] = {}
REGISTRY.forget.append(lambda: _records.clear())


def documented_records() -> dict[int, DocumentedRecord]:
    """The records by opcode."""
    if not _records:
        for opcode, record in records.records_of(V13_1).items():
            if opcode <= MAXIMUM_OPCODE:
                _records[opcode] = DocumentedRecord(record.declaration)
    return _records


# What the entries of the function and global sections say outside of their dictionaries.
_OUTSIDE: Final = ("sym_name", "function_type")


def section_schema(declaration: OperationDeclaration) -> Schema:
    """The schema of `entry` or `global`, whose records are entries of a section."""
    found = _schemas.get(declaration)
    if found is None:
        declared = [a for a in declaration.attributes if a.name not in _OUTSIDE]
        found = _schemas[declaration] = Schema([_field(attribute) for attribute in declared])
    return found


def _field(declared: AttributeDeclaration) -> AttributeField:
    since = declared.since if declared.since is not None else V13_1
    return AttributeField(declared, -1, since > V13_1, since, V13_1)
