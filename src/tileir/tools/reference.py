"""Writes the reference in `docs/operations`: `python -m tileir.tools.reference [DIRECTORY]`.

One page per chapter, one for the types, one for the attributes, one for the versions, and an index; what
`tileir explain` shows, as Markdown.  The same declarations give the same bytes.
"""

from __future__ import annotations

import os
import sys

from tileir.analyze.documentation.grammar import FURTHER_ATTRIBUTES, LEGEND
from tileir.analyze.documentation.markdown import anchor, first_sentence, page_lines, table_lines
from tileir.analyze.documentation.pages import CHAPTERS, Table
from tileir.analyze.documentation.vocabulary import (
    Entry,
    attribute_entries,
    operation_entries,
    type_entries,
    version_entries,
)
from tileir.annotations import Final
from tileir.tools.arguments import EXIT_USAGE, ToolFailure
from tileir.tools.output import write_output
from tileir.tools.programs import reason, run_process

DIRECTORY: Final = os.path.join("docs", "operations")
_NOTE: Final = "<!-- Written by `make docs` from the declarations; edit those. -->"
# The other pages, as links of these name them.
DOCUMENTS: Final = ".."


def main() -> int:
    return run_process("tileir.tools.reference", run, sys.argv[1:])


def run(arguments: list[str]) -> int:
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print("usage: python -m tileir.tools.reference [DIRECTORY]", file=sys.stderr)
        return 2
    directory = arguments[0] if arguments else DIRECTORY
    count = write(directory)
    print(f"{count} pages in {directory}")
    return 0


def write(directory: str) -> int:
    """Write all pages; pages of chapters that are gone are removed, so that nothing stale stays."""
    texts = pages()
    try:
        os.makedirs(directory, exist_ok=True)
        for name in sorted(os.listdir(directory)):
            path = os.path.join(directory, name)
            if name.endswith(".md") and name not in texts and _is_ours(path):
                os.remove(path)
    except (OSError, ValueError) as error:
        raise ToolFailure(f"cannot write '{directory}': {reason(error)}", EXIT_USAGE) from None
    for name, text in texts.items():
        write_output(os.path.join(directory, name), text)
    return len(texts)


def _is_ours(path: str) -> bool:
    """Whether a page was written here: a directory may hold other people's."""
    with open(path, "rb") as file:
        return _NOTE.encode() in file.read(1000)


def pages() -> dict[str, str]:
    """File names and contents."""
    texts: dict[str, str] = {}
    index: list[tuple[str, str, list[Entry]]] = []
    operations = operation_entries()
    for chapter in CHAPTERS:
        entries = [entry for entry in operations if entry.group == chapter]
        index.append((chapter, f"{chapter.lower().replace(' ', '_')}.md", entries))
    index.append(("Types", "types.md", type_entries()))
    index.append(("Attributes", "attributes.md", attribute_entries()))
    index.append(("Versions", "versions.md", version_entries()))
    for title, name, entries in index:
        texts[name] = chapter_text(title, entries)
    texts["README.md"] = index_text(index)
    return texts


def index_text(index: list[tuple[str, str, list[Entry]]]) -> str:
    count = sum(len(entries) for title, _, entries in index if title in CHAPTERS)
    lines = [
        "# Reference",
        "",
        _NOTE,
        "",
        f"The {count} operations tileir knows, the types, attributes and versions of the dialect. "
        "`tileir explain NAME` shows the same in the terminal.",
        "",
        "Each operation has an example as text and in Python. In Python, `build` is a "
        "[`tileir.Builder`](../building.md), types such as `f32`, `ptr` and `tile` come from `tileir.types`, `div_by` "
        "from `tileir.attributes`, and the other names are values.",
        "",
        "## How syntax is written",
        "",
        *table_lines(Table(("form", "meaning"), LEGEND)),
        "",
        FURTHER_ATTRIBUTES,
    ]
    for title, name, entries in index:
        lines.extend(["", f"## [{title}]({name})", ""])
        rows = tuple([(f"[`{e.name}`]({name}#{anchor(e.name)})", first_sentence(e.summary)) for e in entries])
        lines.extend(table_lines(Table(("name", "meaning"), rows)))
    return "\n".join(lines) + "\n"


def chapter_text(title: str, entries: list[Entry]) -> str:
    lines = [f"# {title}", "", _NOTE, "", "[All chapters](README.md)"]
    for entry in entries:
        lines.extend(["", *page_lines(entry.page(), DOCUMENTS)])
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
