"""A value is used where its definition dominates; everything else is reported."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

import tileir
from tileir.ir.declaration import VerifyContext
from tileir.ir.traits import ISOLATED
from tileir.ir.verifier import verify_operation

PROGRAMS = [tileir.smith(seed).text() for seed in range(6)]
MESSAGE = "operand #{} does not dominate this use"


def dominates(value, user):
    """Whether a value may be used by an operation, in a program whose regions have one block each."""
    inner = user
    while inner is not None and inner.parent is not value.parent_block:
        inner = inner.parent_operation
        if inner is None or inner.declaration.traits & ISOLATED:
            return False
    definition = value.defining_operation
    return inner is not None and (definition is None or definition.is_before(inner))


def expected(module):
    return [
        (MESSAGE.format(operation.operands.index(value)), str(operation.location))
        for operation in module.walk()
        for value in operation.operands
        if not dominates(value, operation)
    ]


def found(module):
    """The findings about dominance: a value of another operation may break other rules, too."""
    context = VerifyContext()
    verify_operation(module, context)
    diagnostics = [(each.message, str(each.location)) for each in context.diagnostics]
    return [each for each in diagnostics if each[0].endswith("does not dominate this use")]


@given(st.sampled_from(PROGRAMS), st.integers(0, 1 << 30), st.integers(1, 3))
def test_a_value_from_elsewhere_is_reported(text, seed, changes):
    """Operands become other values of their type from anywhere in the module, which often do not dominate them."""
    chosen = random.Random(seed)
    module = tileir.parse(text)
    operations = list(module.walk())
    arguments = [a for o in operations for region in o.regions for block in region.blocks for a in block.arguments]
    values = [*arguments, *[result for operation in operations for result in operation.results]]
    assert found(module) == expected(module) == []
    for _ in range(changes):
        user = chosen.choice([operation for operation in operations if operation.operands])
        index = chosen.randrange(len(user.operands))
        user.set_operand(index, chosen.choice([v for v in values if v.type is user.operands[index].type]))
    context = VerifyContext()
    verify_operation(module, context)
    # Dominance is not reported beside other errors.
    others = [each for each in context.diagnostics if not each.message.endswith("does not dominate this use")]
    assert any(each.severity == "error" for each in others) or found(module) == expected(module)
