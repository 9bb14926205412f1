"""`tileir docs`: the pages about tileir, which are in the package."""

from __future__ import annotations

import os
import re
import sys

from tileir.ir.quoting import harmless
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_WRONG_INPUT, Option, ToolFailure, Usage
from tileir.tools.programs import guarded

USAGE = Usage(
    "tileir docs",
    "Prints a page of the documentation; without a name, lists the pages.",
    "[PAGE...]",
    (Option("path", "print where the pages are, to open them in an editor or a browser"), COLOR),
    least=0,
    most=-1,
    details="""\
PAGE is a name from the list, as in 'tileir docs command_line', and may be one section of it, as in
'tileir docs command_line#exit-status'. The pages are Markdown. 'tileir explain NAME' is shorter for an operation, a
type or an attribute.""",
)

_EXTENSION = ".md"
# A wheel has the pages in the package, a checkout beside the sources.
_PLACES = ("docs", os.path.join("..", "..", "docs"))
_HEADING = re.compile(r"(#+) (.+)")


def run(arguments: list[str]) -> int:
    return guarded("tileir docs", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    directory = directory_of_pages()
    names = page_names(directory)
    if given.has("path"):
        print(directory)
        return EXIT_FINE
    colour = given.wants_colour(sys.stdout)
    if not given.operands:
        sys.stdout.write(_styled(_overview(directory, names), colour))
        return EXIT_FINE
    texts: list[str] = []
    for operand in given.operands:
        name, _, anchor = operand.partition("#")
        name = _plain(name)
        if name not in names:
            print(f"tileir docs: {_unknown(operand, name, names)}", file=sys.stderr)
            return EXIT_WRONG_INPUT
        text = _page(directory, name)
        found = section(text, anchor) if anchor else text
        if not found:
            anchors = ", ".join([slug for slug, _, _ in sections(text)])
            print(f"tileir docs: '{name}' has no section '{harmless(anchor)}', but {anchors}", file=sys.stderr)
            return EXIT_WRONG_INPUT
        texts.append(found)
    sys.stdout.write(_styled("\n".join(texts), colour))
    return EXIT_FINE


def directory_of_pages() -> str:
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for place in _PLACES:
        directory = os.path.normpath(os.path.join(package, place))
        if os.path.isfile(os.path.join(directory, "command_line" + _EXTENSION)):
            return directory
    raise ToolFailure("the pages are not in this installation of tileir", EXIT_WRONG_INPUT)


def page_names(directory: str) -> list[str]:
    """The pages, those of folders after the others: `api`, .., `operations/core`."""
    found = []
    for folder in ("", "operations"):
        for name in sorted(os.listdir(os.path.join(directory, folder))):
            if name.endswith(_EXTENSION):
                found.append(f"{folder}/{name}".strip("/").removesuffix(_EXTENSION))
    return found


def _plain(name: str) -> str:
    """The name of a page as it is listed; `docs/cpu.md` is how texts refer to it."""
    return name.removeprefix("docs/").removesuffix(_EXTENSION)


def _page(directory: str, name: str) -> str:
    with open(os.path.join(directory, *f"{name}{_EXTENSION}".split("/")), encoding="utf-8") as file:
        return file.read()


def _unknown(operand: str, name: str, names: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, names, 1, 0.5)
    hint = f"did you mean '{close[0]}'?" if close else "'tileir docs' lists the pages"
    return f"there is no page '{harmless(operand)}': {hint}"


def _overview(directory: str, names: list[str]) -> str:
    lines = ["# Pages", ""]
    width = max([len(name) for name in names])
    for name in names:
        title = next((title for _, _, title in sections(_page(directory, name))), "")
        lines.append(f"  {name:{width}}  {title}")
    return "\n".join([*lines, "", "`tileir docs PAGE` prints one, `tileir explain NAME` what a name means.", ""])


# --- Markdown ---


def sections(text: str) -> list[tuple[str, int, str]]:
    """The headings of a page: as links name them, with their level and their words."""
    found: list[tuple[str, int, str]] = []
    fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        heading = _HEADING.fullmatch(line) if not fenced else None
        if heading is not None:
            slug = re.sub(r"[^\w -]", "", heading[2].lower()).replace(" ", "-")
            found.append((slug, len(heading[1]), heading[2]))
    return found


def section(text: str, anchor: str) -> str:
    """A part of a page from its heading to the next one that is not below it; empty if there is none."""
    headings = iter(sections(text))
    lines: list[str] = []
    level, fenced = 0, False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        if not fenced and _HEADING.fullmatch(line):
            slug, depth, _ = next(headings)
            if level and depth <= level:
                break
            if slug == anchor.lower():
                level = level or depth
        if level:
            lines.append(line)
    return "\n".join(lines).rstrip() + "\n" if lines else ""


def _styled(text: str, colour: bool) -> str:
    """Headings in bold and code in colour, on a terminal; the text stays Markdown."""
    if not colour:
        return text
    from tileir.tools.colours import BOLD, CYAN, PLAIN

    lines = []
    fenced = False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and _HEADING.fullmatch(line):
            line = f"{BOLD}{line}{PLAIN}"
        elif not fenced:
            line = re.sub(r"`[^`]+`", lambda found: f"{CYAN}{found[0]}{PLAIN}", line)
        lines.append(line)
    return "\n".join(lines)
