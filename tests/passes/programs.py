"""What the tests of the passes share."""

from __future__ import annotations

from random import Random

from tests.rewrite.integer_programs import Evaluator, Undefined

import tileir
from tileir.ir.core import Operation


def module_of(body: str, arguments: str = "", attributes: str = "", results: str = "") -> Operation:
    """A module with one function `@k` that holds `body`, verified."""
    kind = "testing$func" if results else "entry"
    end = "" if results else "\nreturn"
    text = f"cuda_tile.module @m {{\n{kind} @k({arguments}){results} {{\n{body}{end}\n}} {attributes}\n}}"
    module = tileir.parse(text)
    tileir.verify(module)
    return module


def function_of(module: Operation) -> Operation:
    return module.regions[0].block.first


def names(module: Operation) -> list[str]:
    """The operations in the function, in program order, without terminators."""
    return [
        operation.declaration.mnemonic
        for operation in function_of(module).walk()
        if not operation.declaration.is_terminator and operation is not function_of(module)
    ]


def stored(module: Operation, arguments: list[int]) -> list[list[int]] | None:
    """What the stores of a kernel get, in order; None if the program does something undefined."""
    evaluator = Recorder()
    try:
        evaluator.run(function_of(module), [[value] for value in arguments])
    except Undefined:
        return None
    return evaluator.stores


class Recorder(Evaluator):
    """An evaluator that keeps what is stored."""

    def __init__(self) -> None:
        super().__init__()
        self.stores: list[list[int]] = []

    def operation(self, operation: Operation, name: str) -> None:
        if name == "store_ptr_tko":
            self.stores.append(self.now[operation.operands[1]])
        super().operation(operation, name)


def numbers(rng: Random, width: int, count: int) -> list[int]:
    """Bit patterns with a liking for the ends of the range."""
    most = (1 << width) - 1
    half = 1 << (width - 1)
    return [
        rng.choice((0, 1, 2, half - 2, half - 1, half, half + 1, most - 1, most, rng.randrange(most + 1)))
        for _ in range(count)
    ]
