"""Random nests of loops with conditions on their induction variables: what loop splitting looks for, and near misses."""

from __future__ import annotations

from random import Random

import tileir
from tileir.ir.core import Operation

_RELATIONS = ("less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal", "equal")
_HINTS = ("", "", "", " {cuda_tile.loop_split = 0}", " {cuda_tile.loop_split = 1}", " {cuda_tile.loop_split = 2}")


class _Loops:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.count = 0
        self.lines: list[str] = []

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def store(self, value: str) -> None:
        self.lines.append(f"{self.name()} = store_ptr_tko weak %q, {value} : tile<ptr<i32>>, tile<i32> -> token")

    def loop(self, bounds: list[str], variables: list[str], depth: int) -> None:
        """A loop whose ifs compare its own variable, or one further out, with something from outside."""
        rng = self.rng
        unsigned = rng.random() < 0.2
        variable = self.name()
        lower, upper, step = rng.choice(bounds), rng.choice(bounds), rng.choice(("%one", "%one", "%two", "%s"))
        word = "unsigned " if unsigned else ""
        self.lines.append(f"for {word}{variable} in ({lower} to {upper}, step {step}) : tile<i32> {{")
        known: list[str] = []
        for _ in range(rng.choice((1, 2, 2, 3))):
            self.branch([*variables, variable, variable], bounds, known, unsigned, depth)
        self.store(variable)
        self.lines.append(f"continue }}{rng.choice(_HINTS)}")

    def branch(self, variables: list[str], bounds: list[str], known: list[str], unsigned: bool, depth: int) -> None:
        rng = self.rng
        variable = rng.choice(variables)
        if not known or rng.random() < 0.7:
            condition = self.name()
            pair = [variable, rng.choice([*bounds, *variables])]
            rng.shuffle(pair)
            sign = "unsigned" if unsigned != (rng.random() < 0.1) else "signed"
            self.lines.append(
                f"{condition} = cmpi {rng.choice(_RELATIONS)} {pair[0]}, {pair[1]}, {sign} : tile<i32> -> tile<i1>"
            )
            known.append(condition)
        self.lines.append(f"if {rng.choice(known)} {{")
        self.side([*bounds, variable], variables, known, unsigned, depth)
        if rng.random() < 0.5:
            self.lines.append("} else {")
            self.side([*bounds, variable], variables, known, unsigned, depth)
        self.lines.append(f"}}{rng.choice(_HINTS)}")

    def side(self, bounds: list[str], variables: list[str], known: list[str], unsigned: bool, depth: int) -> None:
        rng = self.rng
        for _ in range(rng.choice((0, 1, 2))):
            self.store(rng.choice([*bounds, *variables]))
        if depth < 2 and rng.random() < 0.3:
            self.loop(bounds, variables, depth + 1)
        elif depth < 3 and rng.random() < 0.3:
            self.branch(variables, bounds, list(known), unsigned, depth + 1)
        if rng.random() < 0.1:
            self.lines.append("continue")


def split_loops(rng: Random) -> Operation:
    """A kernel of loops with conditions; small bounds, so that all loops end soon when the arguments are small too."""
    loops = _Loops(rng)
    bounds = ["%zero", "%two", "%nine", "%a", "%b"]
    for _ in range(rng.choice((1, 2, 2))):
        loops.loop(bounds, [], 0)
    constants = {"zero": 0, "one": 1, "two": 2, "nine": 9}
    lines = [f"%{name} = constant <i32: {value}> : tile<i32>" for name, value in constants.items()]
    for name in "ab":
        # With the argument 1, anything the promise allows.
        lines += [
            f"%{name}1 = constant <i32: {rng.randrange(-6, 12)}> : tile<i32>",
            f"%{name}2 = addi %{name}0, %{name}1 : tile<i32>",
            f"%{name} = assume bounded<-5, 12>, %{name}2 : tile<i32>",
        ]
    lines.append("%s = assume bounded<1, 3>, %s0 : tile<i32>")
    text = "\n".join([*lines, *loops.lines])
    arguments = "%a0: tile<i32>, %b0: tile<i32>, %s0: tile<i32>, %q: tile<ptr<i32>>"
    module = tileir.parse(f"cuda_tile.module @m {{ entry @k({arguments}) {{\n{text}\nreturn }} }}")
    tileir.verify(module)
    return module
