"""A program in each of its forms: what there is, and which operations each line comes from."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.analyze.forms.forms_of import EXAMPLES, PROGRAMS

import tileir
from tileir.analyze.forms.form import MOST_LINES, Representation
from tileir.analyze.forms.forms import Representations

LOOP = """cuda_tile.module @kernels {
  entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %token = make_token : token
    %one = constant <i32: 1> : tile<i32>
    %again = constant <i32: 1> : tile<i32>
    %unused = addi %n, %n : tile<i32>
    for %i in (%zero to %n, step %one) : tile<i32> {
      %a = addi %i, %n : tile<i32>
      %b = addi %i, %n : tile<i32>
      %c = muli %a, %b : tile<i32>
      %d = addi %c, %again : tile<i32>
      %t = store_ptr_tko weak %p, %d token=%token : tile<ptr<i32>>, tile<i32>, token -> token
    }
    return
  }
}
"""


def linked(form: Representation) -> dict[str, list[int]]:
    """The operations of each line, by the line without its indentation."""
    return {line.strip(): numbers for line, numbers in zip(form.lines, form.links, strict=True)}


@pytest.fixture(scope="module")
def loop_forms() -> Representations:
    return Representations(tileir.parse(LOOP, "loop.mlir"))


def test_list_names_the_forms_in_order(loop_forms: Representations) -> None:
    ids = [each.id for each in loop_forms.list()]
    assert ids[:4] == ["source", "tile", "pass-1", "pass-2"]
    assert ids.index("loops") > ids.index("pass-2")
    assert ids[4:7] == ["bytecode", "tiles", "loops"]
    assert all(each.reason is None for each in loop_forms.list()[:4])


def test_every_form_is_made_once(loop_forms: Representations) -> None:
    assert loop_forms.get("tile") is loop_forms.get("tile")
    assert loop_forms.get("pass-1") is loop_forms.get("pass-1")


def test_unknown_form_is_refused_with_those_there_are(loop_forms: Representations) -> None:
    with pytest.raises(
        tileir.OptionError, match="there is no representation 'ptx': choose one of source, tile, pass-1"
    ):
        loop_forms.get("ptx")


def test_form_is_named_by_a_string(loop_forms: Representations) -> None:
    with pytest.raises(tileir.OptionError, match="there is no representation '3'"):
        loop_forms.get(3)  # type: ignore[arg-type]


def test_program_that_breaks_a_rule_is_refused() -> None:
    module = tileir.parse(LOOP)
    addition = next(each for each in module.walk() if each.declaration.mnemonic == "addi")
    addition.set_operands([addition.operands[0]])
    with pytest.raises(tileir.VerifyError):
        Representations(module)


def test_wrong_module_is_refused() -> None:
    with pytest.raises(TypeError, match="representations are of a module or a compiled kernel, not of a str"):
        Representations("examples/softmax.mlir")  # type: ignore[arg-type]


def test_compiled_kernel_is_shown_with_its_module() -> None:
    kernel = tileir.compile(tileir.parse(LOOP), backend="interpreter")
    assert Representations(kernel).get("tile").lines == str(tileir.parse(LOOP)).split("\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_tile_form_is_the_text_of_the_program(name: str) -> None:
    module = tileir.load(EXAMPLES / name)
    before = module.text(debug_info=True)
    form = Representations(module).get("tile")
    assert "\n".join(form.lines) == str(module)
    assert module.text(debug_info=True) == before


def test_operations_are_numbered_in_program_order(loop_forms: Representations) -> None:
    found = linked(loop_forms.get("tile"))
    assert found["%cst_0_i32 = constant <i32: 0> : tile<i32>"] == [0]
    assert found["%5 = addi %4, %cst_1_i32_0 : tile<i32>"] == [9]
    assert found["return"] == [12]
    assert found["entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>) {"] == []


def test_lines_of_an_operation_with_a_region_include_its_end(loop_forms: Representations) -> None:
    tile = loop_forms.get("tile")
    lines = [tile.lines[line].strip() for line in tile.lines_of(5)]
    assert lines == ["for %loopIdx in (%cst_0_i32 to %arg1, step %cst_1_i32) : tile<i32> {", "}"]
    # Nothing is printed of the `continue` but the end of the region.
    assert [tile.lines[line].strip() for line in tile.lines_of(11)] == ["}"]


def test_canonicalization_links_the_constants_it_merged(loop_forms: Representations) -> None:
    step = loop_forms.get("pass-1")
    assert step.title == "1: canonicalize"
    found = linked(step)
    assert found["%cst_1_i32 = constant <i32: 1> : tile<i32>"] == [2, 3]
    assert found["%4 = addi %3, %cst_1_i32 : tile<i32>"] == [9]


def test_a_step_marks_what_changed_and_shows_what_went(loop_forms: Representations) -> None:
    step = loop_forms.get("pass-1")
    assert step.changed is not None and step.removed is not None
    changed = [line.strip() for line, is_changed in zip(step.lines, step.changed, strict=True) if is_changed]
    assert changed == ["%cst_1_i32 = constant <i32: 1> : tile<i32>", "%4 = addi %3, %cst_1_i32 : tile<i32>"]
    assert [each.text.strip() for each in step.removed] == [
        "%cst_1_i32 = constant <i32: 1> : tile<i32>",
        "%cst_1_i32_0 = constant <i32: 1> : tile<i32>",
        "%1 = addi %arg1, %arg1 : tile<i32>",
    ]
    assert {step.lines[each.line].strip().partition(" ")[0] for each in step.removed} == {"for"}


def test_names_of_values_that_change_are_no_change(loop_forms: Representations) -> None:
    step = loop_forms.get("pass-2")
    assert step.title == "2: cse"
    found = linked(step)
    assert found["%1 = addi %loopIdx, %arg1 : tile<i32>"] == [6, 7]
    assert step.changed is not None and step.removed is not None
    changed = [line.strip() for line, is_changed in zip(step.lines, step.changed, strict=True) if is_changed]
    # It has another operand; those after it only have other names.
    assert changed == ["%2 = muli %1, %1 : tile<i32>"]
    assert [each.text.strip() for each in step.removed] == ["%2 = addi %loopIdx, %arg1 : tile<i32>"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_last_step_is_the_optimized_program(name: str) -> None:
    module = tileir.load(EXAMPLES / name)
    forms = Representations(module)
    steps = [each.id for each in forms.list() if each.id.startswith("pass-")]
    assert "\n".join(forms.get(steps[-1]).lines) == str(tileir.optimize(tileir.load(EXAMPLES / name)))


def test_level_and_rules_are_those_of_the_optimizer() -> None:
    module = tileir.parse(LOOP)
    assert not [each for each in Representations(module, level=0).list() if each.id.startswith("pass-")]
    with pytest.raises(tileir.OptionError):
        Representations(module, rules="none").list()


def test_source_of_a_text_is_the_text_as_it_was_written(loop_forms: Representations) -> None:
    form = loop_forms.get("source")
    assert (form.title, form.language) == ("loop.mlir", "tile")
    assert form.text == LOOP
    found = linked(form)
    assert found["%c = muli %a, %b : tile<i32>"] == [8]
    assert found["for %i in (%zero to %n, step %one) : tile<i32> {"][0] == 5


def test_program_without_locations_has_no_source() -> None:
    module = tileir.from_bytecode(tileir.to_bytecode(tileir.parse(LOOP)))
    forms = Representations(module)
    assert forms.list()[0].reason == "the program does not state its source"
    with pytest.raises(tileir.OptionError, match="no source to show"):
        forms.get("source")


def test_one_of_several_kernels_is_numbered_alone() -> None:
    text = LOOP.replace(
        "  entry @k", "  entry @other() {\n    %x = constant <i32: 3> : tile<i32>\n    return\n  }\n  entry @k"
    )
    form = Representations(tileir.parse(text), entry="k").get("tile")
    found = linked(form)
    assert found["%cst_3_i32 = constant <i32: 3> : tile<i32>"] == []
    assert found["%cst_0_i32 = constant <i32: 0> : tile<i32>"] == [0]


def test_long_form_is_cut_and_says_so() -> None:
    count = MOST_LINES + 500
    body = "\n".join([f"%v{number} = addi %n, %n : tile<i32>" for number in range(count)])
    forms = Representations(tileir.parse(f"cuda_tile.module @m {{ entry @k(%n: tile<i32>) {{\n{body}\nreturn }} }}"))
    form = forms.get("tile")
    assert len(form.lines) == len(form.links) == MOST_LINES
    assert form.notes == [f"The first {MOST_LINES:,} of {count + 5:,} lines are shown."]
    step = forms.get("pass-1")
    assert len(step.removed or ()) == MOST_LINES


def test_answer_has_the_keys_of_the_page(loop_forms: Representations) -> None:
    answer = loop_forms.get("pass-1").answer()
    assert list(answer) == ["id", "title", "language", "lines", "links", "changed", "removed", "notes"]
    assert set(answer["changed"]) == {0, 1}
    assert set(answer["removed"][0]) == {"line", "text"}
    assert loop_forms.get("tile").answer()["changed"] is None


def test_the_page_lists_every_id() -> None:
    page = (Path(__file__).parents[3] / "docs" / "tools" / "explore.md").read_text(encoding="utf-8")
    for title in tileir.analysis.Representations(tileir.load("examples/vector_add.mlir")).list():
        # The row of Triton's stages names one GPU and says that others are alike.
        assert f"`{title.id.replace('sm_100', 'sm_90') if title.id.startswith('triton') else title.id}`" in page
