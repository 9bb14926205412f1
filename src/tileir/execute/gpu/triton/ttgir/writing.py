"""Writing TTGIR: statements of a kernel once more, with other names and types, and the rings of buffers."""

from __future__ import annotations

from typing import Final

from tileir.execute.gpu.triton.ttgir.copies import Part, Ring, half_memory
from tileir.execute.gpu.triton.ttgir.text import VALUE, Statement

BARRIER: Final = "!ttg.memdesc<1xi64, #bar, #smem, mutable>"
"""The type of one."""
GROUPS: Final = 2
"""Of warps that compute."""
RingBarriers = tuple[str, str]
"""Those of a ring that tell that a buffer is full, and those that tell that it is free, if any."""


class Writer:
    """Writes statements, with names for what they define."""

    def __init__(self, prefix: str, depth: int) -> None:
        self.lines: Final[list[str]] = []
        self.names: Final[dict[str, str]] = {}
        """What values of the kernel are called here."""
        self.barriers: Final[dict[Ring, RingBarriers]] = {}
        self.buffers: Final[dict[Part, str]] = {}
        self.at: Final[dict[Ring, tuple[str, str]]] = {}
        """Which buffer of a ring is next, and the parity of its barriers."""
        self.depth: int = depth
        self._prefix: Final = prefix
        self._count: int = 0

    def write(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def fresh(self) -> str:
        self._count += 1
        return f"%{self._prefix}{self._count}"

    def emit(self, text: str) -> str:
        name = self.fresh()
        self.write(f"{name} = {text}")
        return name

    def integer(self, number: int, type: str = "i32") -> str:
        return self.emit(f"arith.constant {number} : {type}")

    def used(self, text: str) -> str:
        return VALUE.sub(lambda found: self.names.get(found[0], found[0]), text)

    def define(self, statement: Statement) -> str:
        """Names for the results of a statement, as text before it."""
        texts = []
        for name, count in statement.results:
            here = self.fresh()
            texts.append(f"{here}:{count}" if count else here)
            if count:
                self.names.update({f"{name}#{number}": f"{here}#{number}" for number in range(count)})
            else:
                self.names[name] = here
        return f"{', '.join(texts)} = " if texts else ""

    def types(self, text: str) -> str:
        """A text with the types that it has here."""
        return text

    def copied(self, statement: Statement) -> None:
        """The same statement."""
        text = self.types(self.used(statement.text))
        self.write(self.define(statement) + text)
        for region, closing in zip(statement.regions, statement.closings, strict=True):
            for value in VALUE.findall(region.header):
                self.names[value] = self.fresh()
            if region.header:
                self.write(self.used(region.header))
            self.depth += 1
            for each in region.statements:
                self.copied(each)
            self.depth -= 1
            self.write(self.types(closing))

    # --- rings ---

    def start(self, rings: list[Ring]) -> None:
        zero = self.integer(0)
        for ring in rings:
            self.at[ring] = (zero, zero)

    def buffer(self, ring: Ring, part: Part) -> str:
        """That of a part that is next."""
        type = buffer_type(part)
        return self.emit(
            f"ttg.memdesc_index {self.buffers[part]}[{self.at[ring][0]}] : {many(type, ring.depth)} -> {type}"
        )

    def full(self, ring: Ring) -> str:
        """The barrier that tells that the next buffer is full."""
        return self._barrier(ring, self.barriers[ring][0], self.at[ring][0])

    def free(self, ring: Ring, index: str = "") -> str:
        """The barrier that tells that the next buffer, or another one, is free."""
        return self._barrier(ring, self.barriers[ring][1], index or self.at[ring][0])

    def _barrier(self, ring: Ring, barriers: str, index: str) -> str:
        return self.emit(f"ttg.memdesc_index {barriers}[{index}] : {many(BARRIER, ring.depth)} -> {BARRIER}")

    def advance(self, ring: Ring) -> None:
        """To the next buffer."""
        if not ring.is_reused:
            return
        index, parity = self.at[ring]
        one = self.integer(1)
        flipped = self.emit(f"arith.xori {parity}, {one} : i32")
        if ring.depth == 1:
            self.at[ring] = (index, flipped)
            return
        following = self.emit(f"arith.addi {index}, {one} : i32")
        wraps = self.emit(f"arith.cmpi eq, {following}, {self.integer(ring.depth)} : i32")
        self.at[ring] = (
            self.emit(f"arith.select {wraps}, {self.integer(0)}, {following} : i32"),
            self.emit(f"arith.select {wraps}, {flipped}, {parity} : i32"),
        )

    def counters(self, rings: list[Ring]) -> list[str]:
        return [value for ring in rings for value in self.at[ring]]

    def set_counters(self, rings: list[Ring], values: list[str]) -> None:
        for number, ring in enumerate(rings):
            self.at[ring] = (values[2 * number], values[2 * number + 1])

    def loop(self, bounds: str, type: str, given: list[str], types: list[str]) -> tuple[str, list[str]]:
        """Open a loop that carries values; what its results are called, and the carried ones."""
        name, carried = self.fresh(), [self.fresh() for _ in given]
        pairs = ", ".join([f"{inside} = {value}" for inside, value in zip(carried, given, strict=True)])
        self.write(f"{name}:{len(given)} = scf.for {bounds} iter_args({pairs}) -> ({', '.join(types)}) : {type} {{")
        self.depth += 1
        return name, carried

    def close(self, name: str, yielded: list[str], types: list[str]) -> list[str]:
        """Close what was opened; its results."""
        self.write(f"scf.yield {', '.join(yielded)} : {', '.join(types)}")
        self.depth -= 1
        self.write("}")
        return [f"{name}#{number}" for number in range(len(yielded))]


def many(type: str, count: int) -> str:
    """The type of so many of them."""
    return type.replace("memdesc<", f"memdesc<{count}x", 1)


def buffer_type(part: Part) -> str:
    """That of one group."""
    return half_memory(part.type) if part.is_own else part.type
