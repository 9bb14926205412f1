"""What MkDocs does not do by itself for `make site`: pages of modules, links to other files, colors of Tile IR.

The site has the pages of docs/ as they are.  Files elsewhere in the repository to which they link become pages in
`repository/`; a link to anything else, as a folder, becomes plain text.
"""

from __future__ import annotations

import inspect
import os
import posixpath
import re
from types import ModuleType
from typing import Any, Final

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.lexers import LEXERS

from generators import ROOT
from generators.counts import public_modules
from tileir.analyze.documentation.markdown import anchor, table_lines
from tileir.analyze.documentation.pages import Table

_LANGUAGES: Final = {".py": "python", ".mlir": "mlir", ".ts": "ts"}
_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)#\s]+)(#[^)]*)?\)")
_CODE: Final = re.compile(r"`[^`\n]+`")
_EXAMPLE: Final = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
_API: Final = "reference/api"


def on_config(config: MkDocsConfig) -> None:
    """Name headings as GitHub does, so that a link is right in both; know Tile IR."""
    config.mdx_configs["toc"]["slugify"] = lambda text, separator: anchor(text)
    LEXERS["TileIRLexer"] = ("generators.lexer", "Tile IR", ("mlir", "tileir"), ("*.mlir",), ())


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages that are not in docs/, and list the folders that the navigation names."""
    shown: set[object] = set()
    for module in public_modules():
        name = f"{_API}/{module.__name__}.md"
        files.append(File.generated(config, name, content="\n".join(module_lines(module, shown))))
    for path in linked_files():
        text = (ROOT / path).read_text(encoding="utf-8")
        language = _LANGUAGES.get(os.path.splitext(path)[1])
        content = text if language is None else f"# `{path}`\n\n```{language}\n{text}```\n"
        files.append(File.generated(config, _site_path(path), content=content))
    config.nav = _expanded(config.nav, sorted(files.src_uris))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Follow links as the repository does, where a page of the site has another place."""
    here = _repository_path(page.file.src_uri)

    def followed(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), link[2]))
        site = _site_path(target)
        if site not in files.src_uris and not target.startswith("docs/"):
            return link[1]
        return f"[{link[1]}]({posixpath.relpath(site, posixpath.dirname(page.file.src_uri) or '.')}{link[3] or ''})"

    def changed(text: str) -> str:
        # In tables, GitHub reads `a\|b` as `a|b`, and Python's Markdown takes the backslash as well.
        return _LINK.sub(followed, _CODE.sub(lambda code: code[0].replace("\\|", "|"), text))

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join([part if part.startswith("```") else changed(part) for part in parts])


# --- files outside of docs/ ---


def linked_files() -> list[str]:
    """The files outside of docs/ to which a page links."""
    found = set()
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for _, target, _ in _LINK.findall(page.read_text(encoding="utf-8")):
            path = os.path.relpath(os.path.normpath(page.parent / target), ROOT)
            # The page of the extension has its pictures from the web, for the marketplace.
            if not path.startswith(("docs", "editors")) and (ROOT / path).is_file():
                found.add(path.replace(os.sep, "/"))
    return sorted(found)


def _site_path(path: str) -> str:
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"repository/{path}" if path.endswith(".md") else f"repository/{path}.md"


def _repository_path(page: str) -> str:
    return page.removeprefix("repository/") if page.startswith("repository/") else f"docs/{page}"


def _expanded(nav: Any, pages: list[str]) -> Any:
    """The navigation with the pages of each folder that it names, as `reference/operations/`."""
    if isinstance(nav, dict):
        return {title: _expanded(entry, pages) for title, entry in nav.items()}
    if isinstance(nav, list):
        return [_expanded(entry, pages) for entry in nav]
    if not nav.endswith("/"):
        return nav
    inside = [page for page in pages if page.startswith(nav)]
    return sorted(inside, key=lambda page: (not page.endswith("/index.md"), page.removesuffix(".md")))


# --- the Python API ---


def module_lines(module: ModuleType, shown: set[object]) -> list[str]:
    """The page of a module: its functions and classes from their docstrings, its other names in a table.

    `shown` has what the pages before describe; a name of one of these becomes a link.
    """
    lines = [f"# `{module.__name__}`", "", with_fences(inspect.getdoc(module) or ""), ""]
    values: list[tuple[str, ...]] = []
    for name in sorted(module.__all__):
        value = getattr(module, name)
        if not inspect.isclass(value) and not inspect.isfunction(value):
            values += [] if inspect.ismodule(value) else [(f"`{name}`", f"`{value}`")]
        elif value in shown:
            values.append((f"`{name}`", f"[{value.__name__}][{value.__module__}.{value.__qualname__}]"))
        else:
            shown.add(value)
            heading = f"{module.__name__}.{name}"
            lines += [f"::: {value.__module__}.{value.__qualname__}", "    options:"]
            lines += [f"      heading: {heading}", f"      toc_label: {name}", ""]
    if values:
        lines += ["## Other names", "", *table_lines(Table(("name", "what it is"), tuple(values)))]
    return lines


def with_fences(docstring: str) -> str:
    """A docstring whose examples are blocks of code; Markdown would take them for quotations."""
    return _EXAMPLE.sub("```pycon\n\\g<0>\n```", docstring)


class Examples(griffe.Extension):  # type: ignore[misc]
    """Puts examples in docstrings between fences, while the sources are read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = with_fences(obj.docstring.value)
