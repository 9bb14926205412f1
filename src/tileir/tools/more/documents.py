"""`tileir docs`: the pages about tileir, which are in the package."""

from __future__ import annotations

import os
import shutil
import sys

import tileir
from tileir.analyze.documentation.markdown import section, sections
from tileir.analyze.documentation.terminal import rendered
from tileir.terminal import paint
from tileir.tools.arguments import EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage, did_you_mean
from tileir.tools.command import command
from tileir.tools.options import COLOR

USAGE = Usage(
    "tileir docs",
    "[PAGE...]",
    ("tileir docs", "tileir docs command_line#exit-status"),
    (Option("--path", "print where the pages are, to open them in an editor or a browser"), COLOR),
    """\
PAGE is a name from the list that 'tileir docs' prints, and may be one section of it. The pages are Markdown; a terminal
shows them laid out. 'tileir explain NAME' is shorter for an operation, a type or an attribute.""",
)

_EXTENSION = ".md"
_WIDEST = 100
_CHAPTERS = {
    "guide": "Guide",
    "tools": "Tools",
    "reference": "Reference",
    "reference/operations": "Operations, types and attributes",
    "internals": "Internals",
}


@command(USAGE)
def run(given: Arguments) -> None:
    directory = directory_of_pages()
    pages = pages_in(directory)
    if given.has("path"):
        print(directory)
        return
    text = "\n".join([_text(operand, directory, pages) for operand in given.operands] or [_overview(directory, pages)])
    color = given.wants_color(sys.stdout)
    if color or sys.stdout.isatty():
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        text = rendered(text, width, paint if color else lambda text, kind: text)
    sys.stdout.write(text)


def _text(operand: str, directory: str, pages: dict[str, str]) -> str:
    """The page, or the section of a page, that an operand names, with or without folders and `.md`."""
    path, _, anchor = operand.partition("#")
    name = _name(path.removesuffix(_EXTENSION))
    if name not in pages:
        hint = did_you_mean(name, list(pages)) or "'tileir docs' lists the pages"
        raise ToolFailure(f"there is no page '{operand}'", EXIT_WRONG_INPUT, hint)
    text = _page(directory, pages[name])
    found = section(text, anchor) if anchor else text
    if not found:
        anchors = ", ".join([slug for slug, _, _, _ in sections(text)])
        raise ToolFailure(f"'{name}' has no section '{anchor}', but {anchors}", EXIT_WRONG_INPUT)
    return found


def directory_of_pages() -> str:
    package = os.path.dirname(os.path.abspath(tileir.__file__))
    # A wheel has the pages in the package, a checkout beside the sources.
    for place in ("docs", os.path.join("..", "..", "docs")):
        directory = os.path.normpath(os.path.join(package, place))
        if os.path.isfile(os.path.join(directory, "index" + _EXTENSION)):
            return directory
    raise ToolFailure("the pages are not in this installation of tileir", EXIT_WRONG_INPUT)


def pages_in(directory: str) -> dict[str, str]:
    """The path of each page from the directory, by the name that people type."""
    paths = [
        folder + file
        for folder in ("", *[f"{chapter}/" for chapter in _CHAPTERS])
        for file in sorted(os.listdir(os.path.join(directory, folder)))
        if file.endswith(_EXTENSION)
    ]
    return {_name(path.removesuffix(_EXTENSION)): path for path in paths}


def _name(path: str) -> str:
    """The last part of a path; an index has the name of its folder."""
    return path.removesuffix("/index").rpartition("/")[2]


def _page(directory: str, path: str) -> str:
    with open(os.path.join(directory, path), encoding="utf-8") as file:
        return file.read()


def _overview(directory: str, pages: dict[str, str]) -> str:
    lines = ["# Pages"]
    width = max([len(name) for name in pages])
    chapter = None
    for name, path in pages.items():
        folder = os.path.dirname(path)
        if folder != chapter:
            chapter = folder
            lines += ["", *([f"## {_CHAPTERS[folder]}", ""] if folder else [])]
        title = next((title for _, _, title, _ in sections(_page(directory, path))), "")
        lines.append(f"    {name:{width}}  {title}")
    return "\n".join([*lines, "", "`tileir docs PAGE` prints one, `tileir explain NAME` what a name means.", ""])
