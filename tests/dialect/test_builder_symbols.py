"""The builder finds globals where they are now, however they got there."""

from __future__ import annotations

import pytest

import tileir
from tileir.ir.attributes import string_attribute
from tileir.types import i32


def test_globals_are_found_after_they_were_renamed_erased_and_added_by_others():
    builder = tileir.Builder()
    variable = builder.global_("g", [1], i32)
    with builder.entry("k"):
        builder.get_global("g")
        variable.set_attribute("sym_name", string_attribute("h"))
        with pytest.raises(tileir.BuildError, match="no global 'g'"):
            builder.get_global("g")
        builder.get_global("h")
        other = builder.global_("g", [2.5], tileir.types.f32)
        assert "f32" in builder.get_global("g").type.text
        other.erase()
        with pytest.raises(tileir.BuildError, match="no global 'g'"):
            builder.get_global("g")
        builder.return_()
