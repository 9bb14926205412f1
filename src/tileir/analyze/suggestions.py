"""Notes and help that tools and editors add to errors: close names, and the version that has an operation.

The messages themselves are NVIDIA's, word for word.
"""

from __future__ import annotations

from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.quoting import close_names
from tileir.ir.registry import REGISTRY
from tileir.ir.versions import V13_1, Version, version_named, version_text

# A text that is no program has thousands of misspelled names, and to compare one with all operations takes longer than
# to parse it: only the first are compared.
_meant: dict[str, str] = {}
_MOST_LOOKED_UP = 100


def begin_text() -> None:
    """Begin with another text, or another state of an edited one."""
    if len(_meant) >= _MOST_LOOKED_UP:
        _meant.clear()


def suggest(diagnostic: Diagnostic) -> None:
    """Add a note or help to an error, if there is anything to add."""
    code, values, text = diagnostic.code, diagnostic.values, ""
    if code == "unknown-operation":
        text = _about_name(values["name"])
    elif code == "newer-operation":
        text = _since(REGISTRY.by_name.get(values["name"]))
    elif code == "unknown-opcode":
        text = _about_opcode(int(values["opcode"]))
    elif code in ("unknown-keyword", "wrong-keyword"):
        written = values.get("got") or values.get("written", "")
        text = _about_word(written, values["choices"].split(", "))
    elif code == "newer-keyword":
        text = _about_keywords(values["attribute"], version_named(values["version"]))
    if text:
        diagnostic.notes.append(Diagnostic("help" if text.endswith("?") else "note", text, diagnostic.location))


def _about_name(name: str) -> str:
    """The version that has an operation, or a name that is spelled nearly so."""
    declared = REGISTRY.by_name.get(name if "." in name else f"cuda_tile.{name}")
    if declared is not None:
        return _since(declared)
    word = name.rpartition(".")[2]
    if word not in _meant and len(_meant) < _MOST_LOOKED_UP:
        _meant[word] = _about_word(word, [declaration.mnemonic for declaration in _public()])
    return _meant.get(word, "")


def _about_word(word: str, choices: list[str]) -> str:
    """The choice that is spelled nearly so."""
    close = close_names(word, choices)
    return f"did you mean '{close[0]}'?" if close and close[0] != word else ""


def _since(declared: OperationDeclaration | None) -> str:
    if declared is None or declared.testing or declared.since is None or declared.since <= V13_1:
        return ""
    return f"'{declared.mnemonic}' is there since {version_text(declared.since)}"


def _about_opcode(opcode: int) -> str:
    for declared in _public():
        if declared.opcode == opcode and declared.since is not None:
            return f"opcode {opcode} is '{declared.mnemonic}', since {version_text(declared.since)}"
    return ""


def _about_keywords(attribute: str, version: Version) -> str:
    """The keywords of an attribute that a version lacks: the message does not name the one."""
    # Imported here: the readers do not need it.
    from tileir.dialect.enums import enum_kind_of

    later: dict[str, str] = {}
    for declared in _public():
        for attribute_declaration in declared.attributes:
            kind = enum_kind_of(attribute_declaration) if attribute_declaration.name == attribute else None
            for keyword, since in (kind.since if kind is not None else {}).items():
                if since > version:
                    later[keyword] = f"'{keyword}' since {version_text(since)}"
    return f"newer keywords of '{attribute}': {', '.join(later.values())}" if later else ""


def _public() -> list[OperationDeclaration]:
    return [declaration for declaration in REGISTRY.by_name.values() if not declaration.testing]
