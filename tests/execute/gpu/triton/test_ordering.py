"""Tokens become barriers where they order accesses that may meet, and only there."""

from __future__ import annotations

import pytest
from tests.execute.gpu.triton.lowered_programs import dense_view, entry, lowered, ptx, tensor

TENSOR, VIEW = dense_view([256], "f32")
TILE = "tile<256xf32>"


def program(body: str, before: str = "") -> str:
    """A kernel with views `%a` and `%b` of its two arguments, and a first token `%t`."""
    return entry(
        tensor("%ta", "%p", TENSOR)
        + tensor("%tb", "%q", TENSOR)
        + f" %a = make_partition_view %ta : {VIEW}\n %b = make_partition_view %tb : {VIEW}\n"
        + " %zero = constant <i32: 0> : tile<i32>\n %one = constant <i32: 1> : tile<i32>\n"
        + f" %v = constant <f32: 1.0> : {TILE}\n %t = make_token : token\n"
        + before
        + body
    )


def load(name: str, token: str, view: str, after: str) -> str:
    return f" {name}, {token} = load_view_tko weak {view}[%zero] token = {after} : {VIEW}, tile<i32> -> {TILE}, token\n"


def store(token: str, value: str, view: str, after: str, index: str = "%zero") -> str:
    return f" {token} = store_view_tko weak {value}, {view}[{index}] token = {after} : {TILE}, {VIEW}, tile<i32> -> token\n"


def accesses(body: str) -> list[str]:
    """The accesses and barriers of a kernel, in order."""
    found = []
    for line in lowered(program(body)).text.splitlines():
        for name in ("tt.load", "tt.store", "barrier", "scf.for", "scf.if"):
            if name in line:
                found.append(name.removeprefix("tt.").removeprefix("scf."))
    return found


def test_what_is_loaded_after_it_was_stored_waits() -> None:
    body = store("%t1", "%v", "%a", "%t") + load("%x", "%t2", "%a", "%t1") + store("%t3", "%x", "%b", "%t")
    assert accesses(body) == ["store", "barrier", "load", "store"]


def test_what_is_stored_after_it_was_loaded_waits() -> None:
    body = load("%x", "%t1", "%a", "%t") + store("%t2", "%x", "%b", "%t1")
    # Arguments may share memory.
    assert accesses(body) == ["load", "barrier", "store"]


def test_loads_do_not_wait_for_each_other() -> None:
    body = load("%x", "%t1", "%a", "%t") + load("%y", "%t2", "%a", "%t1") + store("%t3", "%y", "%b", "%t")
    assert "barrier" not in accesses(body)


def test_without_a_token_between_them_nothing_waits() -> None:
    body = store("%t1", "%v", "%a", "%t") + load("%x", "%t2", "%a", "%t") + store("%t3", "%x", "%b", "%t")
    assert "barrier" not in accesses(body)


def test_one_barrier_does_for_all_that_came_before() -> None:
    body = (
        store("%t1", "%v", "%a", "%t")
        + store("%t2", "%v", "%b", "%t")
        + " %both = join_tokens %t1, %t2 : token\n"
        + load("%x", "%t3", "%a", "%both")
        + load("%y", "%t4", "%b", "%both")
    )
    assert accesses(body) == ["store", "store", "barrier", "load", "load"]


def test_around_a_loop_the_next_iteration_waits() -> None:
    body = (
        " %end = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%c = %t) -> (token) {\n"
        + load("%x", "%t1", "%a", "%c")
        + store("%t2", "%x", "%a", "%t1")
        + " continue %t2 : token\n }\n"
    )
    assert accesses(body) == ["for", "barrier", "load", "barrier", "store"]


def test_a_loop_that_stores_tile_after_tile_does_not_wait() -> None:
    body = (
        " %end = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%c = %t) -> (token) {\n"
        + load("%x", "%t1", "%b", "%t")
        + store("%t2", "%x", "%a", "%c", "%i")
        + " continue %t2 : token\n }\n"
    )
    assert accesses(body) == ["for", "load", "store"]


def test_a_loop_that_stores_one_tile_again_and_again_waits() -> None:
    body = (
        " %end = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%c = %t) -> (token) {\n"
        + store("%t2", "%v", "%a", "%c")
        + " continue %t2 : token\n }\n"
    )
    assert accesses(body) == ["for", "barrier", "store"]


def test_a_loop_that_stores_the_same_tiles_as_before_waits() -> None:
    body = (
        " %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%c = %t) -> (token) {\n"
        " %s = for %j in (%zero to %n, step %one) : tile<i32> iter_values(%d = %c) -> (token) {\n"
        + store("%u", "%v", "%a", "%d", "INDEX")
        + " continue %u : token\n }\n continue %s : token\n }\n"
    )
    assert accesses(body.replace("INDEX", "%j")) == ["for", "for", "barrier", "store"]
    both = " %both = addi %i, %j : tile<i32>\n %u ="
    assert accesses(body.replace(" %u =", both).replace("INDEX", "%both")) == ["for", "for", "store"]


def test_what_one_branch_stores_is_waited_for() -> None:
    body = (
        " %is = cmpi equal %n, %one, signed : tile<i32> -> tile<i1>\n"
        " %after = if %is -> (token) {\n"
        + store("%t1", "%v", "%a", "%t")
        + " yield %t1 : token\n } else {\n yield %t : token\n }\n"
        + load("%x", "%t2", "%a", "%after")
        + store("%t3", "%x", "%b", "%t")
    )
    assert accesses(body) == ["if", "store", "barrier", "load", "store"]


def test_an_allocation_is_reached_by_pointers_from_it_alone() -> None:
    pointers = "tile<ptr<f32>>"
    body = (
        f" %own = alloca num_elem = 256, alignment = 16 : {pointers}\n"
        f" %one_value = constant <f32: 1.0> : tile<f32>\n"
        f" %t1 = store_ptr_tko weak %own, %one_value token=%t : {pointers}, tile<f32> -> token\n"
        + load("%x", "%t2", "%a", "%t1")
        + f" %y, %t3 = load_ptr_tko weak %own token=%t2 : {pointers} -> tile<f32>, token\n"
    )
    assert accesses(body) == ["store", "load", "barrier", "load"]


def test_a_fence_for_aliases_is_a_barrier() -> None:
    body = load("%x", "%t1", "%a", "%t") + " %t2 = memory_fence_alias_tko %t1\n" + store("%t3", "%x", "%a", "%t2")
    assert accesses(body) == ["load", "barrier", "store"]


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_a_barrier_is_an_instruction(target: str) -> None:
    body = store("%t1", "%v", "%a", "%t") + load("%x", "%t2", "%a", "%t1") + store("%t3", "%x", "%b", "%t")
    made = ptx(program(body), target)
    assert made.index("st.global") < made.index("bar.sync") < made.index("ld.global")


# A lock around a sum: `%p` is the lock, `%q` the sum.
LOCKED = entry(
    """
 %free = constant <i32: 0> : tile<i32>
 %taken = constant <i32: 1> : tile<i32>
 %t = make_token : token
 %got = loop iter_values(%c = %t) : token -> token {
  %old, %t1 = atomic_cas_tko acquire device %p, %free, %taken token=%c : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %is = cmpi equal %old, %free, signed : tile<i32> -> tile<i1>
  if %is {
   break %t1 : token
  }
  continue %t1 : token
 }
 %sum, %t2 = load_ptr_tko weak %q token=%got : tile<ptr<i32>> -> tile<i32>, token
 %more = addi %sum, %n : tile<i32>
 %t3 = store_ptr_tko weak %q, %more token=%t2 : tile<ptr<i32>>, tile<i32> -> token
 %old, %t4 = atomic_rmw_tko release device %p, xchg, %free token=%t3 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token""",
    "%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %n: tile<i32>",
)


@pytest.mark.usefixtures("triton")
def test_a_lock_excludes_others() -> None:
    made = ptx(LOCKED)
    taken, loaded, stored, released = [
        made.index(word) for word in (".acquire.", "ld.global", "st.global", ".release.")
    ]
    assert taken < loaded < stored < released
    for first, second in ((taken, loaded), (loaded, stored), (stored, released)):
        assert "bar.sync" in made[first:second]
