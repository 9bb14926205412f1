"""HTML for notebooks: programs with colors and folds, tables and reports.

Everything shown is escaped, nothing is wider than the cell, and styles are inline: they reach nothing else in the page.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Final

_OPEN: Final = 60  # Lines of a kernel, or of all reports, that are shown unfolded.
_MOST: Final = 4000  # Lines that are shown at all.
_COLORS: Final = {
    "comment": "#808080",
    "string": "#3a8f4a",
    "value": "#3f7fc8",
    "symbol": "#b8741a",
    "type": "#9a5fc0",
    "number": "#2a9090",
}
"""They can be read on white and on black."""
_TOKEN: Final = re.compile(
    r'(?P<comment>//.*)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<value>%[\w.$-]+)|(?P<symbol>[@#][\w.$-]+)'
    r"|(?P<type>\b(?:tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view|token|b?f\d\w*|i\d+|tf32)\b)"
    r"|(?P<number>\b\d[\w.]*)"
)
_KERNEL: Final = re.compile(r"( *)(?:cuda_tile\.)?entry .*\{")


def highlighted(text: str) -> str:
    """A program, or some lines of one."""
    found, end = [], 0
    for token in _TOKEN.finditer(text):
        color = _COLORS[token.lastgroup or ""]
        found += [
            html.escape(text[end : token.start()]),
            f'<span style="color:{color}">{html.escape(token[0])}</span>',
        ]
        end = token.end()
    return "".join([*found, html.escape(text[end:])])


def program(text: str, caption: str = "") -> str:
    """A program; each kernel folds, and a long one is folded."""
    lines = text.splitlines()
    shown = lines[:_MOST]
    parts, start, number = [], 0, 0
    while number < len(shown):
        kernel = _KERNEL.fullmatch(shown[number])
        end = f"{kernel[1]}}}" if kernel else ""
        if kernel and end in shown[number:]:
            last = shown.index(end, number)
            parts += [_code(shown[start:number]), _fold(shown[number], shown[number + 1 : last + 1])]
            start = number = last + 1
        else:
            number += 1
    more = [f"// {len(lines) - _MOST} more lines"] if len(lines) > _MOST else []
    return _box([_text(caption), *parts, _code([*shown[start:], *more])])


def table(caption: str, rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Names, and facts about each."""
    left = "text-align:left;vertical-align:top"
    lines = [f'<table style="max-width:100%"><caption style="{left}">{html.escape(caption)}</caption>']
    for name, facts in rows:
        cell = "<br>".join([html.escape(fact) for fact in facts])
        lines.append(f'<tr><th style="{left}">{html.escape(name)}</th><td style="{left}">{cell}</td></tr>')
    return _box([*lines, "</table>"])


def report(caption: str, texts: Sequence[str]) -> str:
    """Texts that fold, each to its first line."""
    is_open = sum([text.count("\n") for text in texts]) < _OPEN
    folds = []
    for text in texts[:_MOST]:
        first, _, rest = text.partition("\n")
        folds.append(_fold(first, rest.splitlines(), is_open) if rest else _code([first]))
    return _box([_text(caption), *folds])


def _fold(first: str, rest: list[str], is_open: bool | None = None) -> str:
    state = " open" if (len(rest) <= _OPEN if is_open is None else is_open) else ""
    summary = f'<summary style="font-family:monospace;white-space:pre">{highlighted(first)}</summary>'
    return f"<details{state}>{summary}{_code(rest)}</details>"


def _code(lines: list[str]) -> str:
    return f'<pre style="margin:0">{highlighted(chr(10).join(lines))}</pre>' if lines else ""


def _text(text: str) -> str:
    return f"<div>{html.escape(text)}</div>" if text else ""


def _box(parts: list[str]) -> str:
    return f'<div style="max-width:100%;overflow-x:auto">{"".join(parts)}</div>'
