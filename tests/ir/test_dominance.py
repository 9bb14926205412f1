"""Values that reach their uses are seen on the way through a program; what is in doubt is looked at with care."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

import tileir
from tileir.ir import dominance
from tileir.ir.dominance import verify_dominance
from tileir.ir.verifier import VerifyContext, verify_operation

PROGRAMS = [tileir.smith.program(seed).text() for seed in range(6)]


def carefully(module):
    """What is found without having come upon the values before."""
    found = []
    verify_dominance(module, lambda severity, message, location, notes: found.append((message, str(location))))
    return found


def quickly(module):
    """What the verifier finds on its way, without what else it finds: another value may break other rules, too."""
    context = VerifyContext()
    verify_operation(module, context)
    found = [(each.message, str(each.location)) for each in context.diagnostics]
    return [each for each in found if each[0].endswith("does not dominate this use")]


@given(st.sampled_from(PROGRAMS), st.integers(0, 1 << 30), st.integers(1, 3))
def test_a_value_from_elsewhere_is_found_either_way(text, seed, changes):
    """The value of an operand is another one of its type from anywhere in the module, which often does not reach it."""
    chosen = random.Random(seed)
    module = tileir.parse(text)
    operations = list(module.walk())
    arguments = [a for o in operations for region in o.regions for block in region.blocks for a in block.arguments]
    values = [*arguments, *[result for operation in operations for result in operation.results]]
    # What was found about the program as it stood says nothing about what it becomes.
    assert quickly(module) == carefully(module) == []
    for _ in range(changes):
        user = chosen.choice([operation for operation in operations if operation.operands])
        index = chosen.randrange(len(user.operands))
        user.set_operand(index, chosen.choice([v for v in values if v.type is user.operands[index].type]))
    assert quickly(module) == carefully(module)


def test_programs_in_order_need_no_second_look(monkeypatch):
    asked = []
    monkeypatch.setattr(dominance, "verify_dominance", lambda root, report: asked.append(root))
    for text in PROGRAMS:
        tileir.parse(text, verify=True)
    # Compiled callers do not see a replaced function.
    assert not asked


def test_what_another_verification_saw_counts_for_nothing():
    """A verification that was broken off leaves blocks open; another thread may be in the middle of one."""
    module = tileir.parse("entry @k(%a: tile<i32>) { %0 = addi %a, %a : tile<i32>  return }")
    block = module.regions[0].block.first.regions[0].block
    quickly(module)
    first, last = block.arguments[0].scope, block.first.results[0].scope
    assert first is last and not first.is_open
    first.is_open = True
    block.first.set_operand(1, block.first.results[0])
    assert quickly(module) == carefully(module) != []
