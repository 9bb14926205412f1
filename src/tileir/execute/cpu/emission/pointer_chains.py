"""Emission of chains whose operands are read through pointers: the chain where it is one, else the loop.

The loop as it is takes as long to compile as the chain does, and is hardly ever needed.  Where tile blocks may run
again, the first that needs it ends the launch, which begins again with the code of both (`loops.repeatable`).
"""

from __future__ import annotations

from tileir.execute.analysis.values import dtype_of, is_scalar
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.control import emit_repeat
from tileir.execute.cpu.emission.exits import restart_unless
from tileir.execute.cpu.emission.vector_chains import VectorChain
from tileir.execute.cpu.loops.affine import Forms
from tileir.execute.cpu.loops.statements import Chain
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.llvm import Register


def emit_pointer_chain(emission: Emission, statement: Chain) -> None:
    builder, loop = emission.builder, statement.loop.operation
    chain = VectorChain(emission, statement)
    goal = emission.program.destinations.get(statement)
    carried = [argument for argument in loop.regions[0].blocks[0].arguments[1:] if is_scalar(argument)]

    def all_turns() -> list[str]:
        chain.emit(0)
        # What the loop would carry to its end.
        forms = Forms(loop)
        for argument in carried:
            step = forms.step_of(argument)
            first = emission.whole(loop.operands[2 + argument.index])
            assert step is not None and step.kind in ("constant", "scalar")
            by = step.number if step.value is None else emission.whole(step.value)
            last = builder.add(first, builder.multiply(chain.turns, by))
            register = casting.cast(builder, Register(str(last), casting.INT64), dtype_of(argument))
            emission.put(argument, register)
        return [f"i1 {emission.done[goal.user]}"] if goal is not None and goal.user in emission.done else []

    def each_turn() -> list[str]:
        if statement.clearing is not None:
            emission.statements([statement.clearing])
        emit_repeat(emission, statement.loop)
        return ["i1 false"] if goal is not None and goal.user in emission.done else []

    conditions = chain.exact.conditions
    if emission.restarts and "false" not in conditions:
        restart_unless(emission, builder.all_of(conditions))
        all_turns()
    else:
        done = builder.branch(builder.all_of(conditions), all_turns, each_turn)
        if goal is not None and done:
            emission.done[goal.user] = done[0]
    for argument in carried:
        emission.take(argument)
        emission.scalars[loop.results[argument.index - 1]] = emission.scalars[argument]
