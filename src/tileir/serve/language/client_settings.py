"""What an editor says about itself and its user: which settings follow from that.

The section `tileir` of an editor's settings comes with `initialize` and whenever it changes:

    {"bytecodeVersion": "13.2", "target": "sm_90", "inlayHints": {"types": true, "shapes": false},
     "lint": {"enable": true, "select": ["memory"], "ignore": []}, "cutile": {"compile": false}}

What is missing or makes no sense is as if nothing was said.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lsprotocol import types as lsp

from tileir.ir.versions import NEWEST, VERSIONS, version_text
from tileir.serve.language.analysis import Settings


def settings_for(capabilities: lsp.ClientCapabilities, options: object) -> Settings:
    """The settings for an editor that has just started the server."""
    document = capabilities.text_document
    completion = document.completion if document is not None else None
    item = completion.completion_item if completion is not None else None
    return changed_settings(Settings(snippets=bool(item is not None and item.snippet_support)), options)


def changed_settings(settings: Settings, options: object) -> Settings:
    """Settings after the user has changed theirs; the section may come by itself or under its name."""
    said = _section(options)
    said = _section(said["tileir"]) if "tileir" in said else said
    hints = _section(said.get("inlayHints"))
    version, target = said.get("bytecodeVersion"), said.get("target")
    scripts = _section(said.get("cutile"))
    lint = _section(said.get("lint"))
    versions = {version_text(each): each for each in VERSIONS}
    return replace(
        settings,
        version=versions.get(version, NEWEST) if isinstance(version, str) else settings.version,
        inlay_types=_flag(hints.get("types"), settings.inlay_types),
        inlay_shapes=_flag(hints.get("shapes"), settings.inlay_shapes),
        compile_scripts=_flag(scripts.get("compile"), settings.compile_scripts),
        targets=tuple([target] if target else []) if isinstance(target, str) else settings.targets,
        lint=_flag(lint.get("enable"), settings.lint),
        # Nothing selected is no selection: the rules that are on by default.
        lint_select=_words(lint["select"]) or None if "select" in lint else settings.lint_select,
        lint_ignore=_words(lint["ignore"]) if "ignore" in lint else settings.lint_ignore,
    )


def _section(options: object) -> dict[str, Any]:
    if isinstance(options, dict):
        return options
    # pygls makes objects of what it has no type for.
    as_dict = getattr(options, "_asdict", None)
    return as_dict() if as_dict is not None else {}


def _words(value: object) -> tuple[str, ...]:
    return tuple([str(word) for word in value if isinstance(word, str)]) if isinstance(value, (list, tuple)) else ()


def _flag(value: object, before: bool) -> bool:
    return value if isinstance(value, bool) else before
