"""Under the sanitizer: what compiled code looks into, and how it calls Python (`sites`)."""

from __future__ import annotations

from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.reservations import reserved
from tileir.execute.cpu.loops.checks import Check
from tileir.execute.cpu.loops.sites import WORDS, Kind, Site
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.ir.core import Operation


def new_site(emission: Emission, kind: Kind, operation: Operation, origin: str = "", check: Check | None = None) -> int:
    emission.sites.append(Site(kind, operation, origin, check))
    return len(emission.sites) - 1


def call(emission: Emission, site: int, values: list[str]) -> None:
    """Hand values to Python: numbers, or pointers with their type in front."""
    builder, frame = emission.builder, emission.frame
    table = frame.stack("i64", 96, 8, "inspect.values")
    for number, value in enumerate([f"ptr {reserved(emission)}", *values]):
        place = builder.emit(f"getelementptr i64, ptr {table}, i64 {number}")
        text = value if value.startswith("ptr ") else f"i64 {value}"
        builder.do(f"store {text}, ptr {place}, align 8")
    function = builder.pointer(frame.record_slot(emission.layout.inspection))
    builder.do(f"call void {function}(i64 {site}, i64 {emission.block_number}, ptr {table})")


def operand_memory(emission: Emission, number: int) -> str:
    """Memory for an operand, whatever its type, to hand to Python."""
    return emission.frame.stack("i8", 512, 64, f"inspect.operand{number}")


def array_words(emission: Emission, site: int) -> str:
    """A pointer to the words of the memory that the pointers of a site must stay in."""
    table = emission.builder.pointer(emission.frame.record_slot(emission.layout.inspection + 1))
    return emission.builder.moved(table, 8 * WORDS * site)


def find(emission: Emission, address: str) -> str:
    """The words of the memory an address lies in, null for none."""
    return emission.builder.emit(f"call ptr @inspect.find({', '.join([*_tables(emission), f'i64 {address}'])})")


def elements(
    emission: Emission, array: str, addresses: str, mask: str, count: int, size: int, access: int, last: str
) -> str:
    """Look at addresses one by one; an i1 that says whether all is well."""
    arguments = [
        *_tables(emission), f"ptr {array}", f"ptr {addresses}", f"ptr {mask}", f"i64 {count}", f"i64 {size}",
        f"i64 {access}", f"ptr {last}",
    ]  # fmt: skip
    answer = emission.builder.emit(f"call i64 @inspect.elements({', '.join(arguments)})")
    return emission.builder.emit(f"icmp eq i64 {answer}, 0")


def _tables(emission: Emission) -> list[str]:
    regions = emission.builder.pointer(emission.frame.record_slot(slots.REGIONS))
    count = emission.frame.record_slot(slots.REGIONS + 1)
    return [f"ptr {regions}", f"i64 {count}", f"ptr {reserved(emission)}", f"i64 {len(emission.reserves)}"]
