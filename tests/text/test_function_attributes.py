"""The attributes of functions: printed after the body, as NVIDIA's tools do, and read there or in front of it."""

from __future__ import annotations

import tileir

AFTER = """cuda_tile.module @m {
  entry @k() {
    return
  } {cuda_tile.loop_split = 2 : i64, tileir.note = "x"}
  entry @plain() optimization_hints=<sm_100 = {occupancy = 2}> {
    return
  }
}
"""
IN_FRONT = AFTER.replace(" {\n    return\n  } {cuda_tile", " attributes {cuda_tile").replace(
    '"x"}', '"x"} {\n    return\n  }'
)


def test_attributes_after_the_body_print_back() -> None:
    assert str(tileir.parse(AFTER)) == AFTER.rstrip("\n")


def test_attributes_in_front_of_the_body_are_read() -> None:
    assert "attributes {" in IN_FRONT
    assert str(tileir.parse(IN_FRONT)) == AFTER.rstrip("\n")


def test_a_location_follows_the_attributes() -> None:
    text = 'cuda_tile.module @m {\n  entry @k() {\n    return\n  } {tileir.note = 1} loc("f.py":3:4)\n}'
    module = tileir.parse(text)
    assert module.regions[0].block.first.location.inner == '"f.py":3:4'
