"""A kernel as the assembler gets it, bytecode of a copy of its module, and diagnostics of what the assembler reports.

Draft operations are legalized, forms that the assembler refuses or miscompiles are rewritten (docs/internals/nvidia.md;
each function documents the behavior up to 13.4.92), and the program is down-leveled for an assembler older than the
dialect.  Operations are located by number (`NUMBERED`), so equal programs have equal bytecode and reports lead to an
operation; for profilers they keep the locations of the source instead.

Errors and warnings are lines `LOCATION: error: text`: the MLIR location has its debug scope and may be missing, and
lines without a severity belong to the one before.  Remarks are blocks: `remark[failed]: text`, then a line
`  --> "matmul.mlir":28:22`, then lines `   = name: ..` and `   = reason: ..`.
"""

from __future__ import annotations

import re
from _blake2 import blake2b
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Final, cast

from tileir.bytecode.layouts import to_bytes
from tileir.dialect import ops
from tileir.dialect.ops import ENTRY, GLOBAL
from tileir.dialect.types import TileViewType, with_element
from tileir.execute.locations.source_locations import frames_of, location_notes, user_location, with_source
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import dense_attribute, element_bytes
from tileir.ir.diagnostics import Diagnostic, note, source_of
from tileir.ir.floats import FORMATS, FloatFormat, is_nan
from tileir.ir.location import UNKNOWN, file_location
from tileir.ir.symbols import lookup_symbol
from tileir.ir.traits import MATRIX_PRODUCT
from tileir.ir.traversal import clone, pre_order
from tileir.ir.types import F32, I64, TF32, FloatType
from tileir.ir.versions import NEWEST, RELEASED, Version
from tileir.passes import downlevel, legalize
from tileir.passes.debug_info import rename_symbol, synthesize_scopes
from tileir.passes.emit import UNSIGNED, Emit, taken_token, width_of
from tileir.passes.expansions import is_widening
from tileir.rewrite.facts import Facts
from tileir.rewrite.folds import add_constants
from tileir.rewrite.matching import constant_value, tile_of

if TYPE_CHECKING:
    from tileir.execute.gpu.tileiras.tool import AssemblyOptions

NUMBERED: Final = "<tileir>"
"""The name of the file in positions whose lines are numbers of operations; without a percent sign, since the assembler
puts it into the format string of what a failed assert prints."""

_MESSAGE: Final = re.compile(r"(?:(?P<place>.*?): )??(?P<severity>error|warning|remark|note): (?P<words>.*)")
_REMARK: Final = re.compile(r"remark\[(?P<kind>\w+)\]: (?P<words>.*)")
_POSITION: Final = re.compile(r'"(?P<file>(?:[^"\\]|\\.)*)":(?P<line>\d+):(?P<column>\d+)')
_DETAIL: Final = re.compile(r"= (?P<what>reason|note): (?P<words>.*)")
_OWN_PLACE: Final = re.compile(r"loc\(.*?\): ")
_LAST_WORDS: Final = ("failed to compile Tile IR program", "failed to read provided Tile IR bytecode")
"""What it ends with, after what it was about."""


class Positions:
    """The operations of the program that the assembler was given, in order, and where they are."""

    def __init__(self, entry: Operation, operations: list[Operation]) -> None:
        self._entry: Final = entry
        self._operations: Final = operations
        self._at: dict[tuple[str, int, int | None], Operation] | None = None

    def operation_at(self, file: str, line: int, column: int | None = None) -> Operation | None:
        if file == NUMBERED:
            return self._operations[line - 1] if 0 < line <= len(self._operations) else None
        if self._at is None:
            self._at = {}
            for operation in self._operations:
                for frame in frames_of(operation.location)[:1]:
                    self._at.setdefault((frame.file, frame.line, frame.column), operation)
                    self._at.setdefault((frame.file, frame.line, None), operation)
        return self._at.get((file, line, column))

    def diagnostic(self, severity: str, words: str, place: str) -> Diagnostic:
        """A finding of the assembler's at the operation that a location names, or at the kernel if it names none."""
        found = _POSITION.search(place)
        operation = self.operation_at(found["file"], int(found["line"]), int(found["column"])) if found else None
        return self.diagnostic_at(severity, words, operation or self._entry)

    def diagnostic_at(self, severity: str, words: str, operation: Operation) -> Diagnostic:
        """A finding at an operation, worded for the script that the operation comes from, if it does."""
        location = with_source(user_location(operation.location))
        notes = location_notes(operation.location)
        if operation is self._entry:
            what = "kernel" if operation.declaration is ENTRY else "module"
            return Diagnostic(severity, f"{what} @{operation.symbol_name}: {words}", location, notes)
        subject = f"'{operation.name}' op"
        if source_of(operation.location) is None:
            # Imported here: few programs are refused, and what reads scripts takes a while to load.
            from tileir.execute.locations.script import ScriptMessages

            script = ScriptMessages()
            if script.expression(operation) is not None:
                subject = script.subject(operation)
            elif not operation.regions and severity == "error":
                notes.append(note(f"the operation is: {operation.text()}", UNKNOWN))
        return Diagnostic(severity, f"{subject}: {words}", location, notes)


def read_messages(text: str, positions: Positions) -> list[Diagnostic]:
    """The errors and warnings in the assembler's output."""
    found: list[Diagnostic] = []
    ended: list[Diagnostic] = []
    is_remark = False
    for line in text.splitlines():
        if _REMARK.search(line) or line.startswith(("in function: ", "  category: ")):
            is_remark = True
        matched = None if is_remark and line.startswith(" ") else _MESSAGE.fullmatch(line)
        if matched is None:
            if found and not is_remark and line.strip():
                found[-1].message += f"\n{line.rstrip()}"
            continue
        is_remark = False
        words = matched["words"].strip()
        if words in _LAST_WORDS:
            ended.append(positions.diagnostic("error", words, ""))
        elif matched["severity"] == "note" and found:
            found[-1].notes.append(positions.diagnostic("note", words, matched["place"] or ""))
        else:
            found.append(positions.diagnostic(matched["severity"], words, matched["place"] or ""))
    return found if any(each.severity == "error" for each in found) else found + ended


def has_no_reason(text: str) -> bool:
    """Whether the assembler reports only that it failed."""
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(line.removeprefix("error: ") in _LAST_WORDS for line in lines)


def read_remarks(text: str, positions: Positions) -> list[Diagnostic]:
    """The remarks in the assembler's output, each once: a function that is compiled twice has each remark twice."""
    found: dict[tuple[str, str], Diagnostic] = {}
    for block in re.split(r"^(?=\s*remark\[)", text, flags=re.MULTILINE)[1:]:
        lines = [line.strip() for line in block.splitlines()]
        head = _REMARK.match(lines[0])
        if head is None:
            continue
        place = next((line for line in lines if line.startswith("-->")), "")
        details = [_DETAIL.fullmatch(line) for line in lines]
        more = ", ".join([_OWN_PLACE.sub("", each["words"]) for each in details if each is not None])
        words = f"{head['words']}: {more}" if more else head["words"]
        found.setdefault((place, words), positions.diagnostic("remark", words, place))
    return sorted(found.values(), key=lambda remark: (remark.position, remark.message))


_CANONICAL: Final = 0x7FC00000  # The canonical NaN of f32; all of its bits are in tf32.

_TAKEN_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_$]*|[_$][a-zA-Z0-9_$]+")
"""An identifier of PTX, which the assembler makes; it fails without a reason at other names."""
_OTHER_CHARACTERS: Final = re.compile(r"[^a-zA-Z0-9_$]")


def work_around(root: Operation) -> int:
    """Rewrite what the assembler refuses or gets wrong inside `root`; returns the number of operations rewritten."""
    return sum([_REWRITES[each.declaration](each) for each in list(root.walk()) if each.declaration in _REWRITES])


# Each returns whether it has rewritten the operation.


def _float_conversion(operation: Operation) -> bool:
    """Refused with a rounding mode where nothing is rounded; to tf32 with `nearest_away`, NaNs lose what makes them."""
    value = operation.operands[0]
    source, target = tile_of(value).element, tile_of(operation.results[0]).element
    if "rounding_mode" in operation.attributes and is_widening(source, target):
        operation.set_attribute("rounding_mode", None)
        return True
    if operation.rounding_mode == "nearest_away" and target is TF32 and source is F32:
        emit = Emit(operation)
        nan = emit.compare_floats("not_equal", "unordered", value, value)
        operation.set_operand(0, emit.select(nan, emit.bits(tile_of(value), _CANONICAL), value))
        return True
    return False


def _from_f32(operation: Operation) -> bool:
    """Refused to saturate from tf32 and types of eight bits and fewer: f32 holds their numbers."""
    value = operation.operands[0]
    element = cast(FloatType, tile_of(value).element)
    if not operation.saturating or (element is not TF32 and element.width > 8):
        return False
    operation.set_operand(0, Emit(operation).convert(ops.FTOF, value, F32))
    return True


def _without_promise(operation: Operation) -> bool:
    """Refused to promise `inbounds` of a view with a padding value: the promise is not needed."""
    if operation.inbounds is None or cast(TileViewType, operation.operands[0].type).padding is None:
        return False
    operation.set_attribute("inbounds", None)
    return True


def _without_access(operation: Operation) -> bool:
    """A load or store whose mask is false everywhere is left out, and its token, which becomes the one it takes."""
    mask = operation.mask
    while mask is not None and (source := mask.defining_operation) is not None:
        if source.declaration not in (ops.BROADCAST, ops.RESHAPE):
            break
        mask = source.operands[0]
    elements = constant_value(mask) if mask is not None else None
    if elements is None or any(elements.values()):
        return False
    token = taken_token(operation)
    if operation.declaration is ops.STORE_PTR_TKO:
        operation.replace_with([token])
    else:
        # Of what is not loaded any value will do.
        tile = operation.padding_value or Emit(operation).bits(tile_of(operation.results[0]), 0)
        operation.replace_with([tile, token])
    return True


def _folded_sum(operation: Operation) -> bool:
    """Sums of constants with `flush_to_zero` are rounded wrongly at ties."""
    left, right = (constant_value(value) for value in operation.operands)
    if left is None or right is None or not operation.flush_to_zero:
        return False
    total = add_constants(left, right, operation.rounding_mode, True)
    if total is not None:
        operation.replace_with([Emit(operation).constant(total)])
    return total is not None


def _with_quiet_constants(operation: Operation) -> bool:
    """A constant signaling NaN wins; a quiet one does not, and is as good."""
    is_rewritten = False
    for index, value in enumerate(list(operation.operands)):
        found = constant_value(value)
        form = None if found is None else FORMATS[cast(FloatType, found.element_type).name]
        if found is None or form is None or not any(_is_signalling(form, bits) for bits in found.values()):
            continue
        size = element_bytes(found.element_type)
        quiet = [bits | form.quiet_nan if _is_signalling(form, bits) else bits for bits in found.values()]
        data = b"".join([bits.to_bytes(size, "little") for bits in quiet])
        constant = dense_attribute(found.type, found.shape, found.element_type, data)
        operation.set_operand(index, Emit(operation).constant(constant))
        is_rewritten = True
    return is_rewritten


def _signed_loop(operation: Operation) -> bool:
    """A loop that loads operands of a small matmul never ends if it begins at the minimum: widen its type."""
    has_product = any(inner.declaration.has_trait(MATRIX_PRODUCT) for inner in operation.walk())
    if not operation.unsigned_cmp or not has_product:
        return False
    facts = Facts()
    lower, upper, step = [facts.range(value, signed=True) for value in operation.operands[:3]]
    width = width_of(tile_of(operation.operands[0]))
    largest = (1 << (width - 1)) - 1
    if lower[0] >= 0 and upper[0] >= 0 and step[0] > 0 and upper[1] + step[1] <= largest:
        # The same numbers either way, the one after the last included.
        operation.set_attribute("unsignedCmp", None)
        return True
    if width < 64:
        _widen_loop(operation)
    return width < 64


def _widen_loop(operation: Operation) -> None:
    """Have an unsigned loop count in i64, where its numbers are positive; what is inside gets the number it had."""
    emit = Emit(operation)
    for index in range(3):
        operation.set_operand(index, emit.convert(ops.EXTI, operation.operands[index], I64, UNSIGNED))
    operation.set_attribute("unsignedCmp", None)
    body = operation.regions[0].blocks[0]
    counter = body.arguments[0]
    narrow = tile_of(counter)
    counter.type = with_element(narrow, I64)
    users = counter.users
    if not users or body.first is None:
        return
    number = Emit(body.first).convert(ops.TRUNCI, counter, narrow.element)
    for user in users:
        for index in [index for index, value in enumerate(user.operands) if value is counter]:
            user.set_operand(index, number)


def _is_signalling(form: FloatFormat, bits: int) -> bool:
    return is_nan(form, bits) and bits & form.quiet_nan != form.quiet_nan


_REWRITES: Final[dict[OperationDeclaration, Callable[[Operation], bool]]] = {
    ops.FTOF: _float_conversion,
    ops.FTOI: _from_f32,
    ops.LOAD_VIEW_TKO: _without_promise,
    ops.LOAD_PTR_TKO: _without_access,
    ops.STORE_PTR_TKO: _without_access,
    ops.ADDF: _folded_sum,
    ops.MAXF: _with_quiet_constants,
    ops.MINF: _with_quiet_constants,
    ops.FOR: _signed_loop,
}


class Program:
    """What the assembler gets for a kernel, or for all kernels of a module."""

    def __init__(self, root: Operation, lineinfo: bool = False, version: Version = RELEASED) -> None:
        """`root` is the kernel, or the module."""
        entry = root if root.declaration is ENTRY else None
        module = root if entry is None else entry.parent_operation
        assert module is not None, "a kernel stands in a module"
        self.root: Final = root
        self.source: Final = module
        self.warnings: Final[list[Diagnostic]] = []
        copy = clone(module) if entry is None else _alone(module, entry)
        legalize.run(copy, self.warnings)
        work_around(copy)
        if version < NEWEST:
            downlevel.run(copy, version, self.warnings)
        entries = [each for each in pre_order(copy) if each.declaration is ENTRY]
        self.kernels: Final = {each.symbol_name or "": each.symbol_name or "" for each in entries}
        """The kernels in it: the name that each has in the cubin, by its own."""
        for each in entries:
            self._rename(copy, each)
        operations = list(pre_order(copy))
        locations = [operation.location for operation in operations]
        if not lineinfo:
            for number, operation in enumerate(operations, 1):
                operation.location = file_location(NUMBERED, number, 1)
        self.data: Final = written(copy, version)
        self.version: Final = version
        for operation, location in zip(operations, locations, strict=True):
            operation.location = location
        self.module: Final = copy
        own = "" if entry is None else entry.symbol_name or ""
        self.name: Final = self.kernels.get(own) or next(iter(self.kernels.values()), "")
        """Of the kernel in the cubin; of the first, if there are several."""
        if entry is None and len(entries) == 1:
            entry = entries[0]
        self.positions: Final = Positions(entry if entry is not None else module, operations)

    def _rename(self, module: Operation, entry: Operation) -> None:
        name = entry.symbol_name or ""
        if _TAKEN_NAME.fullmatch(name):
            return
        plain = f"kernel_{_OTHER_CHARACTERS.sub('_', name)}"
        names = (f"{plain}_{number}" if number > 1 else plain for number in count(1))
        new = next(each for each in names if lookup_symbol(module, each) is None)
        words = f"kernel @{name} is '{new}' in the cubin: NVIDIA's assembler takes no such name"
        self.warnings.append(Diagnostic("warning", words, user_location(entry.location)))
        rename_symbol(module, entry, new)
        self.kernels[name] = new

    def key(self, target: str, options: AssemblyOptions) -> str:
        """The name of the cubin in the cache."""
        digest = blake2b(digest_size=20, person=b"tileir cubin")
        settings = (target, options.opt_level, options.lineinfo, options.host, options.system)
        for part in (self.data, repr(settings).encode()):
            digest.update(len(part).to_bytes(8, "little") + part)
        return f"cubin-{digest.hexdigest()}"


def written(module: Operation, version: Version) -> bytes:
    """The bytecode of a module, with the scopes that locations need; the operations are in them afterwards."""
    synthesize_scopes(module)
    return to_bytes(module, version)


def _alone(module: Operation, entry: Operation) -> Operation:
    """A copy of a module with one of its kernels; with all of them, if they share memory that they write to."""
    copy = clone(module)
    contents = [operation for region in copy.regions for block in region.blocks for operation in block]
    shares = any(each.declaration is GLOBAL and not each.constant for each in contents)
    if not shares:
        for operation in contents:
            if operation.declaration is ENTRY and operation.symbol_name != entry.symbol_name:
                operation.erase()
    return copy
