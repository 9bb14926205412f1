"""A value knows its users, one, few or many: always as a plain list of all uses would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import tileir
from tileir.ir.types import I32
from tileir.ir.values import Value

LINES = [f"%{number} = constant <i32: {number}> : tile<i32>" for number in range(40)]
OPERATIONS = list(tileir.parse("\n".join(["entry @k() {", *LINES, "return }"])).walk())


@given(st.lists(st.tuples(st.booleans(), st.integers(0, len(OPERATIONS) - 1)), max_size=120))
def test_users_are_those_of_all_uses(steps):
    value = Value(I32)
    uses: list[tileir.Operation] = []
    for is_added, number in steps:
        user = OPERATIONS[number]
        if is_added:
            value.add_user(user)
            uses.append(user)
        elif user in uses:
            value.drop_user(user)
            uses.remove(user)
        assert value.use_count == len(uses)
        assert value.has_uses == bool(uses)
        assert set(value.users) == set(uses)
        assert len(value.users) == len(set(uses))
        if value.has_one_user_at_most:
            assert len(set(uses)) <= 1
        elif len(uses) < 4:
            assert len(set(uses)) > 1
