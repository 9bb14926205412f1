"""`tileir.explore`: a launch as a page, from a kernel, a module, a path or a cuTile kernel."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir
from tileir.execute.errors import LaunchError
from tileir.ir.diagnostics import OptionError
from tileir.serve.explorer.questions import QUESTIONS

EXAMPLES = Path(__file__).parents[3] / "examples"
VECTOR_ADD = EXAMPLES / "vector_add.mlir"


def vectors(count: int = 300) -> tuple[Any, ...]:
    a, b = numpy.arange(count, dtype="float32"), numpy.ones(count, "float32")
    return a, b, numpy.zeros(count, "float32"), count


@pytest.mark.parametrize("kind", ["path", "text path", "module", "kernel", "bytes"])
def test_whatever_is_a_program_is_launched(kind: str) -> None:
    programs = {
        "path": VECTOR_ADD,
        "text path": str(VECTOR_ADD),
        "module": tileir.load(VECTOR_ADD),
        "kernel": tileir.compile(VECTOR_ADD),
        "bytes": VECTOR_ADD.read_bytes(),
    }
    args = vectors()
    with tileir.explore(programs[kind], 3, args, open=False) as found:
        summary = found.answer("summary")
        assert (summary["kernel"], summary["grid"]) == ("vector_add", [3, 1, 1])
        assert summary["title"] == ("vector_add.mlir" if "path" in kind else "vector_add")
        assert [array["shape"] for array in summary["arrays"]] == [[300]] * 3
        # It is a launch like any other.
        numpy.testing.assert_array_equal(args[2], args[0] + args[1])
        assert found.recording is not None


def test_cutile_kernels_are_launched_with_their_own_arguments() -> None:
    tile = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")

    @tile.kernel
    def double(x, y):
        block = tile.bid(0)
        part = tile.load(x, index=(block,), shape=(16,))
        tile.store(y, index=(block,), tile=part * 2)

    x, y = numpy.arange(64, dtype="float32"), numpy.zeros(64, "float32")
    for kernel in (double, tileir.compile(double, (x, y))):
        y[:] = 0
        with tileir.explore(kernel, (4,), (x, y), open=False) as found:
            summary = found.answer("summary")
            assert (summary["kernel"], summary["title"]) == ("double", Path(__file__).name)
            assert [array["shape"] for array in summary["arrays"]] == [[64], [64]]
            numpy.testing.assert_array_equal(y, 2 * x)


def test_arrays_may_lie_next_to_each_other() -> None:
    whole = numpy.arange(900, dtype="float32").reshape(3, 300)
    a, b, c = whole
    with tileir.explore(VECTOR_ADD, 3, (a, b, c, 300), open=False) as found:
        assert [array["shape"] for array in found.answer("summary")["arrays"]] == [[300]] * 3
    numpy.testing.assert_array_equal(c, a + b)


def test_without_arguments_the_program_is_there_to_read() -> None:
    found = tileir.explore(VECTOR_ADD, open=False)
    summary = found.answer("summary")
    assert found.recording is None
    assert summary["kernel"] == "vector_add" and len(summary["operations"]) == 25
    assert "not run" in summary["notes"][0]
    assert found.answer("form", {"id": "tile"})["lines"][1].strip().startswith("entry @vector_add(")


def test_url_serves_the_page_until_it_is_closed() -> None:
    found = tileir.explore(VECTOR_ADD, 3, vectors(), open=False)
    url = found.url
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", url)
    with urllib.request.urlopen(url) as page:
        assert b"explorer/main.js" in page.read()
    assert url in repr(found)
    found.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(url)
    assert found.url != url
    found.close()


def test_browser_is_opened_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []

    def open_browser(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", open_browser)
    with tileir.explore(VECTOR_ADD, 3, vectors()) as found:
        assert len(opened) == 1
        # Not the token itself: others can read command lines.
        assert found.url.rstrip("/").rpartition("/")[2] not in opened[0]
        with urllib.request.urlopen(opened[0]) as page:
            assert page.url == found.url
    tileir.explore(VECTOR_ADD, 3, vectors(), open=False)
    tileir.explore(VECTOR_ADD, 3, vectors(), target=["h200"], html=tmp_path / "page.html")
    assert len(opened) == 1


def test_export_says_what_it_leaves_out(tmp_path: Path) -> None:
    found = tileir.explore(VECTOR_ADD, 3, vectors(), target=["h200"], html=tmp_path / "one.html", blocks=[1])
    assert found.export(tmp_path / "all.html") == []
    notes = found.export(tmp_path / "one.html", blocks=[1])
    assert notes == ["This page carries the values of tile blocks 1 of 3. What they access is all here."]


def test_notebook_shows_the_page_in_a_sandbox(open_page: Any, tmp_path: Path) -> None:
    found = tileir.explore(VECTOR_ADD, 3, vectors(), target=["h200"], open=False)
    text = found._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in text
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><title>notebook</title><div role=tab aria-selected=true>x</div>{text}")
    page = open_page(notebook)
    inner = page.frame_locator("iframe")
    inner.get_by_role("tab", name="Memory").click()
    inner.get_by_role("tab", name="Memory", selected=True).wait_for()
    assert inner.locator("#title").inner_text() == "vector_add"


def test_mistakes_are_told_in_words() -> None:
    one_array: Any = numpy.zeros(3)
    with pytest.raises(LaunchError, match="the arguments of a launch are a tuple"):
        tileir.explore(VECTOR_ADD, 3, one_array, open=False)
    with pytest.raises(LaunchError, match="takes 4 arguments"):
        tileir.explore(VECTOR_ADD, 3, (1,), open=False)
    with pytest.raises(OptionError, match="there is no target 'abacus'"):
        tileir.explore(VECTOR_ADD, 3, vectors(), target=["abacus"], open=False)
    with pytest.raises(LaunchError):
        tileir.explore(VECTOR_ADD, (0, 1), vectors(), open=False)


def test_other_recordings_are_compared_with() -> None:
    before = tileir.record(VECTOR_ADD, 3, vectors())
    args = vectors()
    args[1][5] = 7
    with tileir.explore(VECTOR_ADD, 3, args, compare={"with ones": before}, open=False) as found:
        listed = found.answer("summary")["comparisons"]
        assert {"id": "recording0", "title": "with ones", "reason": None} in listed
        comparison = found.answer("comparison", {"id": "recording0", "block": 0})
        assert [one["index"] for one in comparison["differences"]] == [[5], [5]]
        assert [one["array"] for one in comparison["arrays"]] == [1, 2]


def test_every_question_is_on_the_page() -> None:
    text = (EXAMPLES.parent / "docs" / "tools" / "explore.md").read_text(encoding="utf-8")
    text = text.partition("## Questions in Python\n")[2]
    rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|", text, re.MULTILINE)
    told = {question: re.findall(r"`(\w+)`", parameters) for question, parameters in rows}
    assert told == {question: list(parameters) for question, parameters in QUESTIONS.items()}
