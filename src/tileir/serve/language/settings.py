"""The settings of the language server: how texts are read and what is reported about them.

The section `tileir` of an editor's settings comes with `initialize` and whenever it changes:

    {"bytecodeVersion": "13.2", "target": "sm_90", "inlayHints": {"types": true, "shapes": false},
     "lint": {"enable": true, "select": ["memory"], "ignore": []}, "cutile": {"compile": false}}

Members that are missing or of another type change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tileir.ir.versions import NEWEST, VERSIONS, Version, version_text


@dataclass(frozen=True)
class Settings:
    """The settings of one editor."""

    version: Version = NEWEST
    snippets: bool = True
    """Whether completions may have placeholders."""
    inlay_types: bool = True
    inlay_shapes: bool = True
    compile_scripts: bool = False
    """Whether cuTile scripts are compiled when they are saved, which runs them."""
    lint: bool = True
    lint_select: tuple[str, ...] | None = None
    lint_ignore: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    """The GPUs that lint checks for, in addition to those of the project."""


def changed_settings(settings: Settings, options: object) -> Settings:
    """Settings after a change; the section may come by itself or under its name."""
    section = _section(options)
    section = _section(section.get("tileir", section))
    hints, lint = _section(section.get("inlayHints")), _section(section.get("lint"))
    version, target = section.get("bytecodeVersion"), section.get("target")
    versions = {version_text(each): each for each in VERSIONS}
    return replace(
        settings,
        version=versions.get(version, NEWEST) if isinstance(version, str) else settings.version,
        inlay_types=_flag(hints.get("types"), settings.inlay_types),
        inlay_shapes=_flag(hints.get("shapes"), settings.inlay_shapes),
        compile_scripts=_flag(_section(section.get("cutile")).get("compile"), settings.compile_scripts),
        targets=tuple([target] if target else []) if isinstance(target, str) else settings.targets,
        lint=_flag(lint.get("enable"), settings.lint),
        # An empty selection selects the rules that are on by default.
        lint_select=_strings(lint["select"]) or None if "select" in lint else settings.lint_select,
        lint_ignore=_strings(lint["ignore"]) if "ignore" in lint else settings.lint_ignore,
    )


def _section(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> tuple[str, ...]:
    return tuple([each for each in value if isinstance(each, str)]) if isinstance(value, list) else ()


def _flag(value: object, before: bool) -> bool:
    return value if isinstance(value, bool) else before
