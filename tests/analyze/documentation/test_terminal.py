"""Markdown laid out for a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileir.analyze.documentation.terminal import rendered

PAGES = sorted((Path(__file__).parents[3] / "docs").rglob("*.md"))

PAGE = """\
# A page

Some words about `tileir lint` and [a
link](other.md), and one [elsewhere](https://example.org).
- an item that is too long
  for a line
- `a|b`

| name | meaning |
|---|---|
| `a \\| b` | what stands beside it is wrapped |

```text
a   `line`  of code that is not wrapped
```

    code   by indentation
"""

SHOWN = """\
<title A page>

Some words about <code `tileir lint`>
and a link, and one elsewhere
(https://example.org).
- an item that is too long for a
  line
- <code `a|b`>

name     meaning
-------  -----------------------
<code `a | b`>  what stands beside it
         is wrapped

    a   `line`  of code that is not wrapped

    code   by indentation
"""


def marked(text: str, kind: str) -> str:
    return f"<{kind} {text}>"


def test_every_part_of_a_page() -> None:
    assert rendered(PAGE, 32, marked) == SHOWN


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_fit_and_lose_no_words(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = rendered(text, 100, lambda text, kind: text)
    prose = re.sub(
        r"^```.*?^```$|`[^`\n]*`|<[^>]*>|\]\([^)]*\)|^[|# -].*$|^ {4}.*$", " ", text, flags=re.MULTILINE | re.DOTALL
    )
    assert set(re.findall(r"[A-Za-z]{4,}", prose)) <= set(re.findall(r"[A-Za-z]{4,}", shown))
    wide = [
        line
        for line in shown.split("\n")
        if len(line) > 100 and not line.startswith("    ") and "  " not in line.strip()
    ]
    assert [line for line in wide if len(max(line.split(), key=len)) < 80] == []
