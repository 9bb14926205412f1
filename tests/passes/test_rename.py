"""Renaming symbols together with their debug information."""

from __future__ import annotations

import pytest

import tileir
from tileir.dialect.debug_info import DILocation
from tileir.ir.attributes import array_attribute
from tileir.ir.core import Operation
from tileir.ir.diagnostics import PassError
from tileir.ir.location import call_site_location, fused_location, name_location
from tileir.passes.debug_info import rename_by_path, rename_symbol, synthesize_scopes

TEXT = """
cuda_tile.module @m {
  global @g <i32: 1> : tile<1xi32>
  entry @k() {
    %p = get_global @g : tile<ptr<i32>>
    return
  }
  entry @other() {
    return
  }
}
"""


def program(scopes: bool = True) -> tuple[Operation, Operation, Operation, Operation]:
    """The module, and in it the global, the kernel and the other kernel."""
    module = tileir.parse(TEXT)
    if scopes:
        synthesize_scopes(module)
    variable, kernel, other = module.regions[0].block.operations
    return module, variable, kernel, other


def linkage(operation: Operation) -> str:
    location = operation.location
    assert isinstance(location, DILocation)
    return location.scope.linkage_name


def test_the_linkage_name_follows_and_the_source_name_stays() -> None:
    module, _, kernel, other = program()
    rename_symbol(module, kernel, "_Zk")
    tileir.verify(module)
    assert kernel.symbol_name == "_Zk"
    assert linkage(kernel) == "_Zk" and kernel.location.scope.name == "k"
    assert [linkage(operation) for operation in kernel.regions[0].block] == ["_Zk", "_Zk"]
    assert linkage(other) == "other"


def test_every_place_that_holds_the_scope_is_updated() -> None:
    module, _, kernel, other = program()
    inside = kernel.regions[0].block.first
    old = inside.location
    inside.location = fused_location((name_location("n", old),), array_attribute((old.scope,)))
    elsewhere = other.regions[0].block.first
    elsewhere.location = call_site_location(old, other.location)
    kernel.set_attribute("tileir.scope", array_attribute((old.scope,)))
    rename_symbol(module, kernel, "new")
    tileir.verify(module)
    assert '"k"' in module.text(debug_info=True)
    assert 'linkageName = "k"' not in module.text(debug_info=True)
    assert elsewhere.location.callee.scope.linkage_name == "new"
    assert kernel.attributes["tileir.scope"].elements[0].linkage_name == "new"


def test_outside_the_scope_of_the_renaming_nothing_changes() -> None:
    _, _, kernel, other = program()
    elsewhere = other.regions[0].block.first
    elsewhere.location = call_site_location(kernel.location, other.location)
    rename_symbol(kernel, kernel, "new")
    assert linkage(kernel) == "new"
    assert elsewhere.location.callee.scope.linkage_name == "k"


def test_uses_follow_if_asked() -> None:
    module, variable, kernel, _ = program(scopes=False)
    rename_symbol(module, variable, "h", update_uses=True)
    assert kernel.regions[0].block.first.attributes["name"].text == "@h"
    tileir.verify(module)
    rename_symbol(module, variable, "i", update_uses=False)
    assert variable.symbol_name == "i"
    assert kernel.regions[0].block.first.attributes["name"].text == "@h"


def test_a_scope_that_does_not_enclose_the_symbol_is_refused() -> None:
    module, _, kernel, other = program()
    before = module.text(debug_info=True)
    with pytest.raises(PassError, match="scope that did not enclose the symbol itself") as caught:
        rename_symbol(other, kernel, "new")
    (finding,) = caught.value.diagnostics
    assert finding.location is kernel.location
    assert [(n.message, n.location) for n in finding.notes] == [("scope defined here", other.location)]
    assert module.text(debug_info=True) == before


@pytest.mark.parametrize("update_uses", [True, False])
def test_a_name_that_is_taken_is_refused(update_uses: bool) -> None:
    module, _, kernel, _ = program()
    before = module.text(debug_info=True)
    with pytest.raises(PassError, match="redefinition of symbol named 'other'"):
        rename_symbol(module, kernel, "other", update_uses)
    assert module.text(debug_info=True) == before
    rename_symbol(module, kernel, "k", update_uses)
    assert module.text(debug_info=True) == before


def test_the_test_pass_finds_symbols_by_path() -> None:
    wrapped = tileir.parse("builtin.module {" + TEXT + "}")
    rename_by_path(wrapped, "m::k", "new", "m", True)
    assert [o.symbol_name for o in wrapped.regions[0].block.first.regions[0].block] == ["g", "new", "other"]
    with pytest.raises(PassError, match="could not find symbol op with name '@m::@nothing'"):
        rename_by_path(wrapped, "m::nothing", "new")
    with pytest.raises(PassError, match="could not find symbol op with name '@nothing'"):
        rename_by_path(wrapped, "m::new", "newer", "nothing")
