"""What `alloca` has reserved on a thread: words that say where, so that checks know it as memory of the launch.

Checked code keeps two words for each `alloca`, where it begins and ends, sanitized code the four of `sites`.  Zeros say
that nothing is reserved.
"""

from __future__ import annotations

from tileir.execute.analysis.values import reserved_bytes
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.loops import sites
from tileir.execute.cpu.loops.statements import Reserve, Statement, statements
from tileir.ir.core import Operation

# The words of more than these are set to zero all at once: LLVM takes long over a thousand stores in a row.
_FEW = 8


def reserved(emission: Emission) -> str:
    """The pointer to the words, null where nothing is ever reserved."""
    if not emission.reserves:
        return "null"
    frame = emission.frame
    if emission.sanitize:
        return frame.stack("i64", sites.WORDS * len(emission.reserves), 8, "reserved")
    return frame.cleared_words(2 * emission.layout.reserve_count, "reserved")


def note(emission: Emission, operation: Operation, address: str, shadow: str = "") -> None:
    """Memory is reserved from here on; under the sanitizer with a shadow, which says that nobody wrote it yet."""
    builder = emission.builder
    size = max(reserved_bytes(operation), 1)
    words = [address, builder.emit(f"add i64 {address}, {size}")]
    if shadow:
        builder.fill(shadow, 1, size)
        words += ["1", builder.address(shadow)]
    _store(emission, operation, words)


def forget(emission: Emission, body: list[Statement]) -> None:
    """What was reserved inside is given back."""
    if not emission.reserves:
        return
    inside = [statement.operation for statement in statements(body) if isinstance(statement, Reserve)]
    numbers = [emission.reserves[operation] for operation in inside]
    if len(numbers) <= _FEW or max(numbers) - min(numbers) >= len(numbers):
        for operation in inside:
            _store(emission, operation, ["0", "0"])
        return
    words = sites.WORDS if emission.sanitize else 2
    place = emission.builder.moved(reserved(emission), 8 * words * min(numbers))
    emission.builder.fill(place, 0, 8 * words * len(numbers))


def _store(emission: Emission, operation: Operation, values: list[str]) -> None:
    words = sites.WORDS if emission.sanitize else 2
    first = words * emission.reserves[operation]
    for number, value in enumerate(values):
        place = emission.builder.moved(reserved(emission), 8 * (first + number))
        emission.builder.do(f"store i64 {value}, ptr {place}, align 8")
