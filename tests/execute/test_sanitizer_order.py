"""Races and missing tokens: a program that has the mistake, and a near twin that does not."""

from __future__ import annotations

import pytest
from tests.execute.sanitized import OWN, load, only, report, store, zeros


def test_two_blocks_that_write_one_place_race() -> None:
    finding = only(report(store("t", "p"), zeros(4), grid=4), "race")
    assert finding.title == "two tile blocks write the same memory, and nothing orders them"
    assert finding.block == (1, 0, 0) and finding.other is not None and finding.other.block == (0, 0, 0)
    assert finding.count == 3
    text = finding.render()
    assert "  against the same operation, tile block (0, 0, 0)\n" in text
    assert "  both touch argument 0 (array int32[4]) at [0]\n" in text
    assert "  seen 3 times\n" in text
    assert not report(OWN + store("t", "o"), zeros(4), grid=4)


def test_a_read_races_with_a_write_of_another_block_in_either_order() -> None:
    body = OWN + store("t", "o") + load("u", "p", " token=%t")
    for schedule in ("forward", "reverse", "random:3", "interleaved"):
        finding = only(report(body, zeros(4), grid=4, schedule=schedule), "race")
        assert finding.title == "two tile blocks access the same memory, and nothing orders them"
    assert not report(OWN + store("t", "o") + load("u", "o", " token=%t"), zeros(4), grid=4)


def test_reads_of_many_blocks_do_not_hide_each_other() -> None:
    # Every block reads place 0; only block 0 writes there, after it has read itself.
    body = (
        """  %c = constant <i32: 0> : tile<i32>
  %first = cmpi equal %x, %c, signed : tile<i32> -> tile<i1>
"""
        + load("t", "p")
        + "  if %first {\n"
        + store("u", "p", " token=%t")
        + "  }"
    )
    for schedule in ("forward", "reverse", "interleaved"):
        only(report(body, zeros(4), grid=3, schedule=schedule), "race")
    assert not report(body, zeros(4), grid=1)


ATOMIC = "  %old, %t = atomic_rmw_tko relaxed SCOPE %p, add, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token\n"


def test_atomics_do_not_race_with_each_other_unless_the_scope_is_too_narrow() -> None:
    assert not report(ATOMIC.replace("SCOPE", "device"), zeros(1), grid=4)
    finding = only(report(ATOMIC.replace("SCOPE", "tl_blk"), zeros(1), grid=4), "race")
    assert finding.help == "scope tl_blk covers only one tile block: use device"
    assert finding.details[1] == "one updates (relaxed tl_blk), the other updated (relaxed tl_blk)"


def test_an_atomic_races_with_a_weak_read() -> None:
    body = ATOMIC.replace("SCOPE", "device")
    finding = only(report(body + load("u", "p", " token=%t"), zeros(1), grid=2), "race")
    assert finding.help.startswith("an atomic is no protection against a weak access")
    assert not report(body + load("u", "p", " token=%t", "relaxed device"), zeros(1), grid=2)


# Block 0 writes data and then a flag; block 1 reads the flag and then the data.
HANDOVER = """  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %flag = offset %p, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %first = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>
  if %first {
    %t0 = store_ptr_tko weak %p, %one : tile<ptr<i32>>, tile<i32> -> token
    %t1 = store_ptr_tko RELEASE device %flag, %one token=%t0 : tile<ptr<i32>>, tile<i32> -> token
  } else {
    %v0, %t2 = load_ptr_tko ACQUIRE device %flag : tile<ptr<i32>> -> tile<i32>, token
    %v1, %t3 = load_ptr_tko weak %pTOKEN : tile<ptr<i32>> -> tile<i32>, token
  }"""


@pytest.mark.parametrize(
    ("release", "acquire", "token", "kinds"),
    [
        ("release", "acquire", " token=%t2", []),
        ("relaxed", "acquire", " token=%t2", ["race"]),
        ("release", "relaxed", " token=%t2", ["race"]),
        ("release", "acquire", "", ["race"]),
    ],
)
def test_release_and_acquire_order_two_blocks_if_tokens_lead_to_and_from_them(
    release: str, acquire: str, token: str, kinds: list[str]
) -> None:
    body = HANDOVER.replace("RELEASE", release).replace("ACQUIRE", acquire).replace("TOKEN", token)
    assert report(body, zeros(2), grid=2).kinds == kinds


def test_operations_of_one_block_on_the_same_bytes_need_a_path_of_tokens() -> None:
    finding = only(report(load("t", "p") + store("u", "p"), zeros(1)), "unordered")
    assert finding.title == "no token orders store_ptr_tko after load_ptr_tko"
    assert finding.details[0] == "both touch argument 0 (array int32[1]) at [0]: one writes, the other read"
    assert "  after k.mlir:4:13, tile block (0, 0, 0)\n" in finding.render()
    assert not report(load("t", "p") + store("u", "p", " token=%t"), zeros(1))


def test_a_token_path_may_lead_through_joins_and_loops() -> None:
    body = """  %a = constant <i32: 0> : tile<i32>
  %b = constant <i32: 3> : tile<i32>
  %c = constant <i32: 1> : tile<i32>
  %s = make_token : token
  %e = for %k in (%a to %b, step %c) : tile<i32> iter_values(%t = %s) -> (token) {
    %v, %t1 = load_ptr_tko weak %p token=TOKEN : tile<ptr<i32>> -> tile<i32>, token
    %t2 = store_ptr_tko weak %p, %k token=%t1 : tile<ptr<i32>>, tile<i32> -> token
    %j = join_tokens %t, %t2 : token
    continue %j : token
  }
  %w, %u = load_ptr_tko weak %p token=%e : tile<ptr<i32>> -> tile<i32>, token"""
    assert not report(body.replace("TOKEN", "%t"), zeros(1))
    # The load of the second iteration does not follow the store of the first; nor does the store after it.
    found = report(body.replace("TOKEN", "%s"), zeros(1))
    assert [(finding.kind, finding.title) for finding in found.findings] == [
        ("unordered", "no token orders load_ptr_tko after store_ptr_tko"),
        ("unordered", "no token orders store_ptr_tko after store_ptr_tko"),
    ]


def test_a_store_must_follow_every_read_not_only_the_last_one() -> None:
    body = load("t", "p") + load("u", "p")
    assert only(report(body + store("w", "p", " token=%u"), zeros(1)), "unordered")
    join = "  %j = join_tokens %t, %u : token\n"
    assert not report(body + join + store("w", "p", " token=%j"), zeros(1))


def test_overlap_is_found_between_elements_of_different_sizes() -> None:
    body = (
        """  %h = ptr_to_ptr %p : tile<ptr<i32>> -> tile<ptr<i16>>
  %n = constant <i32: OFFSET> : tile<i32>
  %q = offset %h, %n : tile<ptr<i16>>, tile<i32> -> tile<ptr<i16>>
"""
        + store("t", "p")
        + "  %v, %u = load_ptr_tko weak %q : tile<ptr<i16>> -> tile<i16>, token"
    )
    only(report(body.replace("OFFSET", "1"), zeros(2)), "unordered")
    assert not report(body.replace("OFFSET", "2"), zeros(2))
