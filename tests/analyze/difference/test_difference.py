"""Differences of programs: nothing for equal ones, and for each edit what it did."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest
from tests.analyze.difference.edits import EDITS
from tests.generators.programs import random_module
from tests.optional import needs

import tileir
from tileir.ir.traversal import clone

EXAMPLES = Path(__file__).parents[3] / "examples"
ATTENTION = (EXAMPLES / "attention.mlir").read_text()
LOOP = """cuda_tile.module @kernels {
  entry @sum(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %start = constant <f32: 0.0> : tile<f32>
    %total = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%before = %start) -> (tile<f32>) {
      %twice = addi %n, %n : tile<i32>
      %place = addi %i, %twice : tile<i32>
      %to = offset %p, %place : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %x, %t = load_ptr_tko weak %to : tile<ptr<f32>> -> tile<f32>, token
      %after = addf %before, %x : tile<f32>
      continue %after : tile<f32>
    }
    %u = store_ptr_tko weak %p, %total : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
"""


def difference(before: str, after: str, **options: bool) -> tileir.analysis.ProgramDifference:
    return tileir.diff(tileir.parse(before), tileir.parse(after), **options)


def edited(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


# --- nothing is different ---


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.mlir")), ids=lambda path: path.stem)
def test_a_program_is_itself_as_text_and_as_bytecode(path: Path) -> None:
    if path.stem == "broken":
        return
    module = tileir.load(path)
    data = tileir.to_bytecode(module)
    for other in (tileir.load(path), tileir.parse(str(module)), tileir.parse(module.text(generic=True)), data):
        found = tileir.diff(module, other)
        assert not found and found.summary() == "no difference" and found.unified() == "" == found.side_by_side(100)
        assert found.to_dict()["same"] is True


def test_random_programs_are_themselves() -> None:
    for seed in range(10):
        module = random_module(random.Random(seed), size=40)
        assert not tileir.diff(module, clone(module), locations=True)


# --- one edit ---

KINDS = {
    "remove": "removed", "bypass": "removed", "move_up": "moved", "set_attribute": "changed",
    "add_attribute": "changed", "set_operand": "changed", "duplicate": "added",
}  # fmt: skip


def check_edits(seeds: range) -> None:
    wrong: list[str] = []
    tried: Counter[str] = Counter()
    for seed in seeds:
        base = random_module(random.Random(seed), size=random.Random(seed).choice((10, 30, 80)))
        for name, edit in EDITS.items():
            copy = clone(base)
            if edit(copy, random.Random(seed)) is None:
                continue
            there, back = tileir.diff(base, copy), tileir.diff(copy, base)
            kinds: Counter[str] = Counter([change.kind for change in there.changes])
            reverse: Counter[str] = Counter([change.kind for change in back.changes])
            tried[name] += 1
            assert kinds[KINDS[name]] > 0
            # What is removed on the way there is added on the way back.
            assert (kinds["removed"], kinds["added"]) == (reverse["added"], reverse["removed"])
            # Users of what is gone have another operand; everything else is one change.
            others = {"changed"} if name == "bypass" else set()
            if kinds[KINDS[name]] != 1 or set(kinds) - others != {KINDS[name]}:
                wrong.append(f"seed {seed}, {name}: {there.summary()}")
    # Of operations that are exactly alike, nobody can tell which one it was.
    assert len(wrong) <= tried.total() // 100, wrong
    assert set(tried) == set(EDITS)


def test_an_edit_is_one_change_of_its_kind() -> None:
    check_edits(range(10))


def check_listing(seed: int) -> None:
    """Every line of both programs is shown once, and every operation without a partner is counted once."""
    rng = random.Random(seed)
    left, other = [random_module(rng, size=rng.choice((10, 40)), discardable=False) for _ in range(2)]
    edited_copy = clone(left)
    for _ in range(rng.choice((2, 4, 10))):
        rng.choice(list(EDITS.values()))(edited_copy, rng)
    for right in (other, edited_copy):
        found = tileir.diff(left, right)
        if not found:
            # One edit has undone another.
            continue
        lines = found.unified(context=None).split("\n")[3:-1]
        assert len([line for line in lines if line[0] in " -"]) == len(str(found.left).split("\n"))
        assert len([line for line in lines if line[0] in " +"]) == len(str(found.right).split("\n"))
        left_only, right_only = [sum([each.count for each in kind]) for kind in (found.removed, found.added)]
        assert len(list(found.left.walk())) - left_only == len(list(found.right.walk())) - right_only
        try:
            tileir.verify(right)
        except tileir.VerifyError:
            # Some edits go too far.
            continue
        shown = tileir.parse("\n".join([line[1:] for line in lines if line[0] in " +"]))
        assert not tileir.diff(shown, found.right)


def test_every_line_and_operation_is_there_once() -> None:
    for seed in range(12):
        check_listing(seed)


@pytest.mark.long
def test_every_line_and_operation_of_many_programs_is_there_once() -> None:
    for seed in range(12, 400):
        check_listing(seed)


@pytest.mark.long
def test_many_edits_are_one_change_each() -> None:
    check_edits(range(10, 600))


# --- what is said ---


@pytest.mark.parametrize(
    ("edits", "summary"),
    [
        (
            [("addf %before, %x :", "addf %before, %x rounding<zero> :")],
            "1 operation changed: rounding_mode nearest_even -> zero",
        ),
        ([("addf %before, %x :", "mulf %before, %x :")], "1 operation changed: addf -> mulf"),
        ([("addf %before, %x :", "addf %x, %before :")], "1 operation changed: operands"),
        ([("<i32: 1>", "<i32: 2>")], "1 operation changed: value dense<1> -> dense<2>"),
        ([("load_ptr_tko weak %to", "load_ptr_tko weak %p")], "1 operation changed: source %to -> %p"),
        ([("%after", "%more")], "1 value renamed: %after -> %more"),
        ([("@sum", "@total")], "entry @sum renamed @total"),
        (
            [("      %twice = addi %n, %n : tile<i32>\n", ""), ("    %total = for", "    %twice = addi %n, %n : tile<i32>\n    %total = for")],
            "1 operation moved out of a loop",
        ),
        (
            [("    %start = constant <f32: 0.0> : tile<f32>\n", ""), ("    %zero =", "    %start = constant <f32: 0.0> : tile<f32>\n    %zero =")],
            "1 operation moved",
        ),
        (
            [("    %u = store", "    %more = mulf %total, %total : tile<f32>\n    %u = store"), ("%p, %total :", "%p, %more :")],
            "1 operation added, 1 changed: value %total -> %more",
        ),
        (
            [("%n: tile<i32>)", "%n: tile<i32>, %m: tile<i32>)")],
            "1 operation changed: argument %m added",
        ),
        (
            [("  entry @sum", "  global @g <f32: [1.0]> : tile<1xf32>\n  entry @sum")],
            "global @g added",
        ),
    ],
)  # fmt: skip
def test_the_summary_says_what_was_done(edits: list[tuple[str, str]], summary: str) -> None:
    assert difference(LOOP, edited(LOOP, *edits)).summary() == summary


def test_another_precision_changes_types_and_moves_nothing() -> None:
    found = difference(LOOP, LOOP.replace("f32", "f16"))
    assert not found.removed and not found.added and not found.moved
    assert found.summary().startswith(
        "6 operations changed: type tile<f32> -> tile<f16> (3 times), type of %p tile<ptr<f32>> -> tile<ptr<f16>>"
    )


def test_a_moved_operation_that_changed_is_both() -> None:
    found = difference(
        LOOP,
        edited(
            LOOP,
            ("      %twice = addi %n, %n : tile<i32>\n", ""),
            ("    %total = for", "    %twice = addi %n, %n overflow<no_signed_wrap> : tile<i32>\n    %total = for"),
        ),
    )
    assert [(change.kind, change.where) for change in found.changes] == [("moved", "out of a loop"), ("changed", "")]
    (detail,) = found.changed[0].details
    assert (detail.what, detail.name, detail.before, detail.after) == (
        "attribute", "overflow", "none", "no_signed_wrap",
    )  # fmt: skip


def test_renamed_functions_are_found_by_what_is_in_them() -> None:
    two = edited(LOOP, ("cuda_tile.module @kernels {\n", "cuda_tile.module @kernels {\n  entry @empty() { return }\n"))
    found = difference(two, edited(two, ("@sum", "@other"), ("addf", "subf")))
    assert found.summary() == "entry @sum renamed @other; 1 operation changed: addf -> subf"


def test_names_and_locations_count_where_asked() -> None:
    renamed = edited(LOOP, ("%after", "%more"), ("@sum", "@total"))
    ignored = difference(LOOP, renamed, ignore_names=True)
    assert not ignored and ignored.unified() == ""
    located = edited(LOOP, ("addf %before, %x : tile<f32>", 'addf %before, %x : tile<f32> loc("k.py":3:4)'))
    assert not difference(LOOP, located)
    found = difference(LOOP, located, locations=True)
    assert found.summary() == '1 operation changed: location (none) -> "k.py":3:4'
    assert '+      %after = addf %before, %x  : tile<f32> loc("k.py":3:4)' in found.unified()


def test_a_module_in_bytecode_has_no_name() -> None:
    module = tileir.parse(LOOP.replace("@kernels", "@mine"))
    found = tileir.diff(module, tileir.to_bytecode(module))
    assert not found and found.unified() == "" == found.side_by_side(100)
    assert (
        tileir.diff(module, tileir.parse(LOOP.replace("@kernels", "@yours"))).summary() == "module @mine renamed @yours"
    )


def test_numbers_that_printers_give_are_no_names() -> None:
    module = tileir.parse(LOOP)
    again = tileir.parse(str(module))
    assert not tileir.diff(module, again) and not tileir.diff(again, module)


# --- how it is shown ---


def test_what_is_the_same_reads_the_same() -> None:
    """One operation more at the front gives all others another number; no line shows it."""
    printed = str(tileir.parse(LOOP))
    more = str(tileir.parse(edited(LOOP, ("    %zero =", "    %new = addi %n, %n : tile<i32>\n    %zero ="))))
    lines = [line for line in difference(printed, more).unified().split("\n")[3:] if line[:1] in "+-" and line]
    assert len(lines) == 1 and re.fullmatch(r"\+    %\w+ = addi %arg1, %arg1 : tile<i32>", lines[0])


def test_a_unified_difference_applies_to_the_printed_program(tmp_path: Path) -> None:
    import subprocess

    needs("patch")
    before, after = LOOP, edited(LOOP, ("addf %before, %x :", "mulf %before, %x :"), ("%n, %n", "%n, %i"))
    found = difference(before, after)
    whole = tileir.diff(tileir.parse(before), tileir.parse(after)).unified(context=None)
    old = "".join([line[1:] + "\n" for line in whole.split("\n")[3:-1] if line[0] in " -"])
    new = "".join([line[1:] + "\n" for line in whole.split("\n")[3:-1] if line[0] in " +"])
    assert not difference(old, before) and not difference(new, after)
    (tmp_path / "old").write_text(old)
    patched = subprocess.run(
        ["patch", "-s", "-o", "-", str(tmp_path / "old")], input=found.unified(), capture_output=True, text=True
    )
    assert patched.returncode == 0 and patched.stdout == new


def test_side_by_side_is_as_wide_as_asked_and_marks_words() -> None:
    found = difference(LOOP, edited(LOOP, ("addf %before, %x :", "addf %before, %x rounding<zero> :")))
    plain = found.side_by_side(80)
    assert max([len(line) for line in plain.split("\n")]) <= 80 and "\033" not in plain
    colored = found.side_by_side(200, color=True)
    assert "\033[33m\033[7mrounding<zero>" in colored
    bare = re.sub("\033\\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in bare.split("\n")] == found.side_by_side(200).split("\n")
    everything = found.side_by_side(300, context=None)
    assert len(everything.split("\n")) == len(str(found.left).split("\n")) + 2


def test_what_was_moved_points_to_its_other_place() -> None:
    start = "    %start = constant <f32: 0.0> : tile<f32>\n"
    found = difference(LOOP, edited(LOOP, (start, ""), ("    %zero =", f"{start}    %zero =")))
    signs = [line[99] for line in found.side_by_side(200).split("\n") if "%start = constant" in line]
    assert signs == ["v", "^"]


def test_nothing_in_a_program_reaches_the_terminal() -> None:
    found = difference(
        LOOP,
        edited(
            LOOP,
            (
                "%u = store_ptr_tko weak %p, %total :",
                '%v = print_tko "\\1b[2Jx" -> token\n    %u = store_ptr_tko weak %p, %total :',
            ),
        ),
    )
    for text in (found.unified(), found.side_by_side(300), found.summary()):
        assert "\033" not in text


def test_the_dictionary_is_json() -> None:
    import json

    found = difference(LOOP, edited(LOOP, ("addf %before", "mulf %before")))
    answer = json.loads(json.dumps(found.to_dict()))
    assert answer["counts"] == {"removed": 0, "added": 0, "moved": 0, "changed": 1, "renamed": 0}
    (change,) = answer["changes"]
    assert change["left"] == {"line": 11, "text": "%after = addf %before, %x  : tile<f32>"}
    assert change["details"] == [{"what": "operation", "name": "", "before": "addf", "after": "mulf"}]


def test_what_is_no_program_is_refused() -> None:
    with pytest.raises(tileir.OptionError, match="diff takes modules, paths or bytes, not an int"):
        tileir.diff(3, 4)  # type: ignore[arg-type]


# --- hard programs ---


def additions(count: int, chained: bool) -> str:
    lines = ["cuda_tile.module @m {", "entry @k(%a: tile<f32>, %b: tile<f32>) {"]
    lines += [f"%x{n} = addf {f'%x{n - 1}' if chained and n else '%a'}, %b : tile<f32>" for n in range(count)]
    return "\n".join([*lines, "return", "}", "}"])


@pytest.mark.parametrize("chained", [True, False])
def test_additions_that_are_all_alike(chained: bool) -> None:
    text = additions(300, chained)
    shorter = difference(text, additions(299, chained))
    assert shorter.summary() == "1 operation removed"
    changed = difference(text, text.replace("%x150 = addf", "%x150 = subf"))
    assert changed.summary() == "1 operation changed: addf -> subf"


def test_deep_nests_are_no_problem() -> None:
    depth = 2000
    middle = "%x = addi %n, %n : tile<i32>"
    text = "cuda_tile.module @m { entry @k(%c: tile<i1>, %n: tile<i32>) {" + "if %c {" * depth + middle + "}" * depth
    text += " return } }"
    assert difference(text, text.replace("addi", "muli")).summary() == "1 operation changed: addi -> muli"
