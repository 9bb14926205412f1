"""Comments that silence findings of a line or of a file."""

from __future__ import annotations

import tileir

UNUSED = "%x = addf %a, %a : tile<f32>"


def found(*lines: str, select: list[str] | None = None) -> list[tuple[int, str]]:
    text = "\n".join(lines)
    module = tileir.parse(text)
    return [(finding.diagnostic().position[1], finding.rule) for finding in tileir.lint(module, select=select)]


def kernel(*body: str, top: tuple[str, ...] = ()) -> list[str]:
    return [*top, "entry @k(%a: tile<f32>) {", *body, "return", "}"]


def test_a_comment_at_the_end_of_a_line_silences_the_line() -> None:
    assert found(*kernel(UNUSED)) == [(2, "unused-value")]
    assert found(*kernel(f"{UNUSED} // tileir: ignore[unused-value]")) == []
    assert found(*kernel(f"{UNUSED} // tileir: ignore[unused-value]: kept for later")) == []
    assert found(*kernel(f"{UNUSED} //tileir:ignore[ unused-load ,unused-value ]", UNUSED.replace("x", "y"))) == [
        (2, "unused-silence"),
        (3, "unused-value"),
    ]


def test_a_comment_on_a_line_of_its_own_silences_the_next_line_with_code() -> None:
    assert found(*kernel("// tileir: ignore[unused-value]", UNUSED)) == []
    assert found(*kernel("// tileir: ignore[unused-value]", "// because", "", UNUSED)) == []
    assert found(*kernel("// tileir: ignore[unused-value]", UNUSED, UNUSED.replace("x", "y"))) == [(4, "unused-value")]


def test_a_comment_without_names_silences_every_rule() -> None:
    assert found(*kernel(f"{UNUSED} // tileir: ignore")) == []
    assert found(*kernel("// tileir: ignore")) == [(2, "unused-silence")]


def test_a_comment_at_the_top_silences_the_file() -> None:
    top = ("// A kernel.", "// tileir: ignore-file[unused-value]: an example")
    assert found(*kernel(UNUSED, UNUSED.replace("x", "y"), top=top)) == []
    assert found(*kernel(top=top)) == [(2, "unused-silence")]


def test_comments_in_strings_silence_nothing() -> None:
    assert found(*kernel('print_tko "// tileir: ignore\\n" -> token', UNUSED)) == [(3, "unused-value")]


def test_other_comments_for_the_tool_are_no_silences() -> None:
    assert found(*kernel(top=("// tileir: --grid 4 --arg 1.0",))) == []
    assert found(*kernel(UNUSED, top=("// tileir: ignored[unused-value]",))) == [(3, "unused-value")]


def test_unknown_names_are_findings_also_where_others_silence_something() -> None:
    assert found(*kernel(f"{UNUSED} // tileir: ignore[unused-value, unused-valeu]")) == [(2, "unknown-rule")]


def test_a_silence_of_a_rule_that_is_off_is_not_called_unused() -> None:
    comment = "// tileir: ignore[unused-value]"
    assert found(*kernel(comment), select=["unused-load", "unused-silence"]) == []
    assert found(*kernel(comment), select=["unused-value", "unused-silence"]) == [(2, "unused-silence")]


def test_a_launch_stated_at_the_top_may_stand_beside_a_silence() -> None:
    from tileir.execute.arguments.argument_text import stated_launch

    text = "// tileir: ignore-file[unused-value]\n// tileir: --grid 4\nentry @k() { return }"
    words = stated_launch(text)
    assert words is not None and words.grid == (4,)
