"""Whether tokens order two accesses on every path, and in every iteration."""

from __future__ import annotations

import pytest

import tileir
from tileir.dialect.ops import ENTRY, LOAD_PTR_TKO, STORE_PTR_TKO
from tileir.execute.analysis.token_order import TokenOrder
from tileir.ir.core import Operation
from tileir.proofs.symbolic.token_paths import always_after

LOAD = "%x, %r = load_ptr_tko weak %p token=%{} : tile<ptr<f32>> -> tile<f32>, token"
STORE = "%w = store_ptr_tko weak %p, %v token=%{} : tile<ptr<f32>>, tile<f32> -> token"


def accesses(body: str) -> tuple[TokenOrder, Operation, Operation]:
    """The order of a kernel, its load and its store."""
    text = f"""cuda_tile.module @m {{
  entry @k(%p: tile<ptr<f32>>, %c: tile<i1>, %n: tile<i32>) {{
    %v = constant <f32: 1.0> : tile<f32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %t = make_token : token
    %u = make_token : token
    {body}
    return
  }}
}}"""
    module = tileir.parse(text, verify=True)
    operations = list(module.walk())
    (load,) = [each for each in operations if each.declaration is LOAD_PTR_TKO]
    (store,) = [each for each in operations if each.declaration is STORE_PTR_TKO]
    (entry,) = [each for each in operations if each.declaration is ENTRY]
    return TokenOrder(entry), load, store


def loop(inside: str, result: str) -> str:
    return f"""%last = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%before = %t) -> (token) {{
      {inside}
      continue %{result} : token
    }}"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{LOAD.format('t')}\n{STORE.format('r')}", True),
        (f"{LOAD.format('t')}\n{STORE.format('t')}", False),
        (f"{LOAD.format('t')}\n%j = join_tokens %u, %r : token\n{STORE.format('j')}", True),
        # Every iteration comes after the one before it, and the store after the last.
        (f"{loop(LOAD.format('before'), 'r')}\n{STORE.format('last')}", True),
        # Only the last iteration precedes the store.
        (f"{loop(LOAD.format('t'), 'r')}\n{STORE.format('last')}", False),
        # The loop hands on a token that the load never came into.
        (f"{loop(LOAD.format('t'), 'before')}\n{STORE.format('last')}", False),
        # One of two paths is enough for nobody.
        (
            f"{LOAD.format('t')}\n%y = if %c -> (token) {{ yield %r : token }} else {{ yield %u : token }}\n{STORE.format('y')}",
            False,
        ),
        # Where the load does not run nothing has to come after it.
        (
            f"%y = if %c -> (token) {{ {LOAD.format('t')}\nyield %r : token }} else {{ yield %u : token }}\n{STORE.format('y')}",
            True,
        ),
    ],
)
def test_a_store_after_a_load(body: str, expected: bool) -> None:
    order, load, store = accesses(body)
    assert always_after(order, store, load) is expected


@pytest.mark.parametrize(
    ("inside", "result", "expected"),
    [
        (f"{LOAD.format('before')}\n{STORE.format('r')}", "w", (True, True, True)),
        # The load of the next iteration does not wait for the store.
        (f"{LOAD.format('t')}\n{STORE.format('r')}", "w", (False, False, True)),
        # The store waits for all loads, no load for a store.
        (f"{LOAD.format('before')}\n{STORE.format('r')}", "r", (True, False, True)),
        (f"{LOAD.format('before')}\n{STORE.format('before')}", "w", (False, True, False)),
    ],
)
def test_in_a_loop(inside: str, result: str, expected: tuple[bool, bool, bool]) -> None:
    """The store after the load, the load after the store, and the store after the load of its iteration."""
    order, load, store = accesses(loop(inside, result))
    found = (
        always_after(order, store, load),
        always_after(order, load, store),
        always_after(order, store, load, same_iteration=True),
    )
    assert found == expected
