"""Draws the pictures in docs/pictures: `python .ci/pictures.py [DIRECTORY]`.

A picture is columns of boxes, from left to right, and arrows between boxes.  Colors follow the reader's light or dark
scheme; what stands outside of boxes is a grey that can be read on both.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

DIRECTORY = Path(__file__).parents[1] / "docs" / "pictures"

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 12px; fill: #1f2328 }
  .title { font-size: 14px; font-weight: 600 }
  .label { fill: #768390; font-size: 11px }
  rect { fill: #f6f8fa; stroke: #8c959f; stroke-width: 1 }
  rect.ours { fill: #dff3d8; stroke: #4c9a2a }
  path { fill: none; stroke: #768390; stroke-width: 1.5 }
  marker path { fill: #768390; stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .label { fill: #8b949e }
    rect { fill: #21262d; stroke: #6e7681 }
    rect.ours { fill: #1d3a1a; stroke: #57ab5a }
  }
"""
GAP, ROW_GAP, MARGIN = 56, 16, 8


class Box(NamedTuple):
    """A title and lines below it; `ours` is what tileir does."""

    title: str
    lines: tuple[str, ...] = ()
    ours: bool = False

    @property
    def width(self) -> int:
        return int(max([len(self.title) * 8.0, *[len(line) * 6.6 for line in self.lines]])) + 24

    @property
    def height(self) -> int:
        return 34 + 17 * len(self.lines)


class Picture(NamedTuple):
    """Arrows are pairs of titles, with a label or none."""

    title: str
    columns: tuple[tuple[Box, ...], ...]
    arrows: tuple[tuple[str, str, str], ...]


def ours(title: str, *lines: str) -> Box:
    return Box(title, lines, True)


def box(title: str, *lines: str) -> Box:
    return Box(title, lines)


PICTURES: dict[str, Picture] = {
    "frontends": Picture(
        "A frontend calls the builder; the module becomes text, bytecode or a running kernel",
        (
            (box("your frontend", "walks its own program"),),
            (ours("tileir.Builder", "a method per operation", "types inferred", "mistakes at your line"),),
            (ours("module", "verified, with your", "source positions"),),
            (
                ours("text", "as NVIDIA's tools print it"),
                ours("bytecode", "13.1 to 13.4"),
                ours("run it here", "interpreter or native code"),
            ),
            (box("NVIDIA's assembler", "for the GPU"), box("results", "to compare with yours")),
        ),
        (
            ("your frontend", "tileir.Builder", ""),
            ("tileir.Builder", "module", "finish"),
            ("module", "text", ""),
            ("module", "bytecode", ""),
            ("module", "run it here", ""),
            ("bytecode", "NVIDIA's assembler", ""),
            ("run it here", "results", ""),
        ),
    ),
    "kernel_authors": Picture(
        "A cuTile script runs without a GPU, and mistakes are reported at its lines",
        (
            (box("your script", "@ct.kernel functions", "ct.launch(..)"),),
            (box("cuTile", "compiles the kernel", "to Tile IR"),),
            (
                ours("native code", "on all processors"),
                ours("sanitizer", "races, tokens, bounds"),
                ours("trace and NaN watch", "one tile block, step by step"),
            ),
            (
                box("results", "in your arrays or tensors"),
                box("report", "the line of Python, the tile block,", "the array, the index, a hint"),
            ),
        ),
        (
            ("your script", "cuTile", ""),
            ("cuTile", "native code", ""),
            ("cuTile", "sanitizer", ""),
            ("cuTile", "trace and NaN watch", ""),
            ("native code", "results", ""),
            ("sanitizer", "report", ""),
            ("trace and NaN watch", "report", ""),
        ),
    ),
    "compiler_research": Picture(
        "A program goes through passes, tileir's and yours, and is verified after each",
        (
            (box("text or bytecode", "from any producer"),),
            (ours("module", "operations, values, uses", "edited in place"),),
            (
                ours("tileir's passes", "canonicalize, cse, licm, .."),
                box("your passes", "plain functions, patterns,", "facts about values"),
            ),
            (ours("verify", "after each pass"),),
            (ours("print or write", "nothing is lost"), ours("run before and after", "the same bits")),
        ),
        (
            ("text or bytecode", "module", "load"),
            ("module", "tileir's passes", ""),
            ("module", "your passes", ""),
            ("tileir's passes", "verify", ""),
            ("your passes", "verify", ""),
            ("verify", "print or write", ""),
            ("verify", "run before and after", ""),
        ),
    ),
    "continuous_integration": Picture(
        "On a machine without a GPU: check programs, run kernels, look for races",
        (
            (box("a change", "no GPU on this machine"),),
            (
                ours("tileir check", "programs and bytecode"),
                ours("tileir emulate", "cuTile scripts and tests"),
                ours("tileir run --sanitize", "kernels and their races"),
            ),
            (
                box("findings", "text, JSON, SARIF,", "annotations on GitHub"),
                box("exit status", "0 fine, 1 the program is wrong,", "2 the command line is wrong"),
            ),
        ),
        (
            ("a change", "tileir check", ""),
            ("a change", "tileir emulate", ""),
            ("a change", "tileir run --sanitize", ""),
            ("tileir check", "findings", ""),
            ("tileir check", "exit status", ""),
            ("tileir emulate", "exit status", ""),
            ("tileir run --sanitize", "exit status", ""),
        ),
    ),
    "judging_kernels": Picture(
        "A generated kernel is checked, run within limits, sanitized and compared",
        (
            (box("candidate", "a kernel that a", "model wrote"),),
            (ours("verify", "every rule", "of the dialect"),),
            (ours("run", "bounds checked,", "time limited"),),
            (ours("sanitize", "races, tokens,", "unwritten output"),),
            (ours("compare", "with a reference,", "bit for bit"),),
            (box("verdict", "and the reason,", "for the next try"),),
        ),
        (
            ("candidate", "verify", ""),
            ("verify", "run", ""),
            ("run", "sanitize", ""),
            ("sanitize", "compare", ""),
            ("compare", "verdict", ""),
        ),
    ),
}


def draw(picture: Picture) -> str:
    places: dict[str, tuple[int, int, Box]] = {}
    heights = [sum(item.height for item in column) + ROW_GAP * (len(column) - 1) for column in picture.columns]
    height = max(heights) + 2 * MARGIN
    x = MARGIN
    for column, used in zip(picture.columns, heights, strict=True):
        y = (height - used) // 2
        width = max(item.width for item in column)
        for item in column:
            places[item.title] = (x, y, item)
            y += item.height + ROW_GAP
        x += width + GAP
    widths = {item.title: max(other.width for other in column) for column in picture.columns for item in column}
    total = x - GAP + MARGIN
    size = f'viewBox="0 0 {total} {height}" width="{total}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(picture.title)}</title>",
        f"<style>{STYLE}</style>",
        '<marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z"/></marker>',
    ]
    for start, end, label in picture.arrows:
        (x1, y1, first), (x2, y2, second) = places[start], places[end]
        left, right = x1 + widths[start], x2 - 2
        top, bottom = y1 + first.height // 2, y2 + second.height // 2
        middle = (left + right) // 2
        parts.append(
            f'<path d="M{left} {top} C{middle} {top} {middle} {bottom} {right} {bottom}" marker-end="url(#end)"/>'
        )
        if label:
            parts.append(f'<text class="label" x="{middle}" y="{top - 6}" text-anchor="middle">{escape(label)}</text>')
    for x, y, item in places.values():
        width = widths[item.title]
        kind = ' class="ours"' if item.ours else ""
        parts.append(f'<rect{kind} x="{x}" y="{y}" width="{width}" height="{item.height}" rx="6"/>')
        middle = x + width // 2
        parts.append(f'<text class="title" x="{middle}" y="{y + 22}" text-anchor="middle">{escape(item.title)}</text>')
        for number, line in enumerate(item.lines):
            below = y + 22 + 17 * (number + 1)
            parts.append(f'<text x="{middle}" y="{below}" text-anchor="middle">{escape(line)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main(arguments: list[str]) -> int:
    directory = Path(arguments[0]) if arguments else DIRECTORY
    directory.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        (directory / f"{name}.svg").write_text(draw(picture), encoding="utf-8")
    print(f"{len(PICTURES)} pictures in {directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
