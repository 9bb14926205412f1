"""What notebooks show: balanced HTML without anything that a program or a file name can smuggle in."""

from __future__ import annotations

import copy
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir
from tileir import notebook

HOSTILE = '"><script>alert(1)</script><img src=x onerror="x()">&amp;'
TEXT = f"""cuda_tile.module @m attributes {{my.note = "{HOSTILE.replace('"', chr(92) + "22")}"}} {{
  entry @first(%p: tile<ptr<f32>>) {{
    %0 = constant <f32: 1.5> : tile<f32>  // a comment
    %1 = negf %0 : tile<f32>
    return
  }}
  entry @second() {{
    return
  }}
}}"""


class Page(HTMLParser):
    """The elements of a page, in the order of their tags; every end has its beginning."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(thing: Any) -> Page:
    text = thing._repr_html_()
    assert text.startswith('<div style="max-width:100%;overflow-x:auto">')
    page = Page(text)
    assert set(page.found) <= {"div", "pre", "span", "details", "summary", "table", "caption", "tr", "th", "td", "br"}
    assert page.attributes <= {"style", "open"}
    return page


def racy(name: str) -> tileir.Kernel:
    text = (Path(__file__).parents[1] / "examples" / "racy.mlir").read_text(encoding="utf-8")
    return tileir.compile(tileir.parse(text, name), backend="interpreter")


def test_a_module_is_its_text_with_colors_and_a_fold_for_each_kernel() -> None:
    module = tileir.parse(TEXT)
    page = shown(module)
    assert page.found["details"] == page.found["summary"] == 2 and page.found["span"] > 8
    assert "".join(page.text.split()) == "".join(str(module).split())
    assert "<script" not in module._repr_html_() and "onerror=" in page.text


def test_a_long_kernel_is_folded_and_a_very_long_program_is_cut() -> None:
    def program(count: int) -> str:
        lines = "\n".join([f"%{number} = iota : tile<8xi32>" for number in range(count)])
        return tileir.parse(f"entry @k() {{ {lines} return }}")._repr_html_()

    assert "<details open>" in program(20) and "<details>" in program(200)
    assert "more lines" in program(9000) and len(program(9000)) < 3_000_000


def test_kernels_findings_costs_and_differences_are_shown() -> None:
    module = tileir.parse(TEXT, HOSTILE)
    kernel = tileir.compile(module, entry="first", backend="interpreter")
    assert "kernel first, backend interpreter" in shown(kernel).text
    findings = tileir.lint(module)
    assert "unused-value" in shown(findings).text and "1 finding" in shown(findings).text
    other = copy.deepcopy(module)
    tileir.optimize(other)
    assert shown(tileir.diff(module, other)).found["details"] == 1
    assert "about" in shown(tileir.cost(kernel, 1, (numpy.zeros(8, "f4"),))).text


def test_reports_and_comparisons_are_shown() -> None:
    arrays = numpy.ones(512, "i4"), numpy.zeros(1, "i4"), 512
    with pytest.raises(tileir.SanitizerError) as caught:
        racy(HOSTILE).launch(4, arrays, sanitize=True)
    page = shown(caught.value.report)
    assert page.found["details"] == 2 and "race: " in page.text and HOSTILE in page.text
    recording = tileir.record(racy(HOSTILE), 4, arrays)
    assert "no value is wrong" in shown(tileir.recording.compare(recording, recording)).text


@pytest.mark.parametrize("text", ["", "entry @k() {", '"' * 100_000, "%" * 100_000, "(" * 100_000, HOSTILE])
def test_any_text_is_shown_as_it_is(text: str) -> None:
    page = Page(notebook.program(text) + notebook.report(text, [text]) + notebook.table(text, [(text, [text])]))
    assert page.text.count(text) >= 5 or not text
