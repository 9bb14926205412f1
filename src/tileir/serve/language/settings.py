"""The settings of the language server: how texts are read and what is reported about them.

The section `tileir` of an editor's settings comes with `initialize` and whenever it changes:

    {"bytecodeVersion": "13.2", "target": "sm_90", "inlayHints": {"types": true, "shapes": false},
     "lint": {"enable": true, "select": ["memory"], "ignore": []}, "cutile": {"compile": false}}

Members that are missing or of another type change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from tileir.ir.versions import NEWEST, VERSIONS, Version, version_text


@dataclass(frozen=True)
class Settings:
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


DEFAULT: Final = Settings()


def changed_settings(settings: Settings, options: object) -> Settings:
    """Settings after a change; the section may come by itself or under its name."""
    section = options.get("tileir", options) if isinstance(options, dict) else None

    def changed(before: Any, *names: str, kind: type = bool, read: Callable[[Any], Any] = lambda value: value) -> Any:
        value = section
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return read(value) if isinstance(value, kind) else before

    def strings(values: list[object]) -> tuple[str, ...]:
        return tuple([each for each in values if isinstance(each, str)])

    versions = {version_text(each): each for each in VERSIONS}
    return replace(
        settings,
        version=changed(settings.version, "bytecodeVersion", kind=str, read=lambda text: versions.get(text, NEWEST)),
        inlay_types=changed(settings.inlay_types, "inlayHints", "types"),
        inlay_shapes=changed(settings.inlay_shapes, "inlayHints", "shapes"),
        compile_scripts=changed(settings.compile_scripts, "cutile", "compile"),
        targets=changed(settings.targets, "target", kind=str, read=lambda target: (target,) if target else ()),
        lint=changed(settings.lint, "lint", "enable"),
        # An empty selection selects the rules that are on by default.
        lint_select=changed(settings.lint_select, "lint", "select", kind=list, read=lambda all: strings(all) or None),
        lint_ignore=changed(settings.lint_ignore, "lint", "ignore", kind=list, read=strings),
    )
