"""Compare the declarations with releases of cuda-tile and tileiras: `python -m generators compare`.

The encoders of cuda-tile state versions, operations, records, enumerations and tags.  The disassembler that comes with
tileiras contains the dialect without the compiler: its strings are the names of operations, the versions of types and
the messages.  Functions written by hand and messages have no declaration; they are compared with an earlier release.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from generators.encoders import (
    Encoder,
    encoders_of,
    enumerations_of,
    functions_of,
    installed_sources,
    sources_in,
    versions_of,
)
from generators.records import notation
from tileir.bytecode import attributes, debug, types
from tileir.bytecode.container import SECTION_NAMES
from tileir.bytecode.records import record_of, records_of
from tileir.dialect.enums import ENUM_KINDS, PADDING, SYMBOL_VISIBILITY, enum_kind_of
from tileir.dialect.types import POINTER_ATTRIBUTES
from tileir.execute.gpu.nvidia_tools import find_tool
from tileir.ir.attributes import FIRST_DRAFT_ONLY_VALUE
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.quoting import several
from tileir.ir.registry import REGISTRY
from tileir.ir.versions import RELEASED, VERSIONS, Version, version_text

COMPARED: Final = {"cuda-tile": "1.7.0", "nvidia-cuda-tileiras": "13.4.92"}
"""The releases that the declarations were last compared with."""

KNOWN: Final = {
    "new enumeration GpuArchitecture": "no encoder uses it: hints name architectures in strings",
    "new enumeration HintKey": "no encoder uses it: hints have names",
    "new enumeration Synchronization": "no encoder uses it",
}
"""Differences that need no change, by the text before their colon, with the reason."""

_TOOL: Final = "tileirdisasm"
_RECORD: Final = re.compile(r"encodings\.encode_(?!Entry|Global|Module)\w+Op")
"""Encoders whose records are compared; of the three others the writer does the work."""
_ABBREVIATED: Final = {"nsw": "nosignedwrap", "nuw": "nounsignedwrap", "nw": "nowrap", "default": "none"}
_OTHER_NAMES: Final = {
    *("tile", "ptr", "tensor_view", "partition_view", "gather_scatter_view", "strided_view", "token"),
    *("bounded", "div_by", "same_elements", "optimization_hints", "ptr_attr"),
    *("di_compile_unit", "di_file", "di_lexical_block", "di_loc", "di_subprogram"),
}
"""Names of the dialect that are neither operations nor enumerations."""


class Release(NamedTuple):
    """What was found of both packages."""

    sources: dict[str, str]
    strings: frozenset[str]


def release_in(places: list[str]) -> Release:
    """The release in wheels, folders or programs; without any the installed one."""
    sources: dict[str, str] = {} if places else installed_sources()
    data = b"" if places else _read(find_tool(_TOOL))
    for place in map(Path, places):
        sources |= sources_in(place)
        if zipfile.is_zipfile(place):
            with zipfile.ZipFile(place) as wheel:
                tools = {Path(name).stem: name for name in wheel.namelist()}
                # Releases before 13.4 have no disassembler.
                tool = tools.get(_TOOL) or tools.get("tileiras")
                data += wheel.read(tool) if tool is not None else b""
        elif place.is_file():
            data += _read(str(place))
    return Release(sources, frozenset([text.decode() for text in re.findall(rb"[\x20-\x7e]{4,}", data)]))


def _read(path: str) -> bytes:
    return Path(path).read_bytes() if path else b""


def differences(new: Release, before: Release | None = None) -> list[str]:
    """What a release has that the declarations, or the release before it, do not have."""
    found: list[str] = []
    if new.sources:
        versions = versions_of(new.sources)
        found += [f"new version {version_text(version)}" for version in versions if version not in VERSIONS]
        encoders = encoders_of(new.sources)
        for encoder in encoders:
            found += _operation_differences(encoder, versions)
        opcodes = {encoder.opcode for encoder in encoders}
        declared = {opcode: record for version in VERSIONS for opcode, record in records_of(version).items()}
        found += [
            f"no operation {record.declaration.class_name}: declared with opcode {opcode}"
            for opcode, record in declared.items()
            if opcode not in opcodes
        ]
        found += _enumeration_differences(enumerations_of(new.sources), encoders)
        if before is not None:
            found += _function_differences(functions_of(new.sources), functions_of(before.sources))
    if new.strings:
        found += _name_differences(new.strings)
        known = (before.strings if before is not None else frozenset()) or new.strings
        found += [f"new message: {text}" for text in sorted(new.strings - known) if _is_message(text)]
    return found


def _operation_differences(encoder: Encoder, versions: list[Version]) -> Iterator[str]:
    name, since = encoder.name, encoder.since[""]
    declaration = REGISTRY.with_opcode(encoder.opcode)
    same_name = [each for each in REGISTRY.declarations() if each.class_name == name and each.opcode is not None]
    if declaration is None and not same_name:
        first = "of previews" if encoder.is_preview else f"since {version_text(since)}"
        record = encoder.record(max([since, *versions]))
        yield f"new operation {name}: opcode {encoder.opcode} (0x{encoder.opcode:02X}), {first}, {record}"
        return
    if declaration is None or declaration not in same_name:
        other = f", which {declaration.class_name} has" if declaration is not None else ""
        declared = f", declared {same_name[0].opcode}" if same_name else ", not declared"
        yield f"operation {name}: opcode {encoder.opcode}{other}{declared}"
        return
    # The encoders state no version for what only previews have.
    if declaration.since != since and not encoder.is_preview:
        declared = version_text(declaration.since) if declaration.since is not None else "none"
        yield f"operation {name}: since {version_text(since)}, declared {declared}"
    yield from _record_differences(encoder, declaration, versions)


def _record_differences(encoder: Encoder, declaration: OperationDeclaration, versions: list[Version]) -> Iterator[str]:
    """The first version whose record differs; what the later ones add is seen when that is declared."""
    for version in versions:
        # Functions and globals are sections of a file: functions written by hand.
        declared_at = min(version, VERSIONS[-1])
        if record_of(encoder.opcode, declared_at) is not None:
            theirs, ours = encoder.record(version), notation(declaration, declared_at)
            if theirs != ours:
                yield f"operation {encoder.name}: in {version_text(version)} {theirs}, declared {ours}"
                return


def _numbers() -> dict[str, dict[int, str]]:
    """The tables of numbers by the name of the enumeration in cuda-tile; without names where ours say nothing."""
    tags = [*types.SCALARS, types.POINTER_TAG, types.TILE_TAG, types.TENSOR_VIEW_TAG, types.PARTITION_VIEW_TAG]
    tags += [types.FUNCTION_TAG, types.GATHER_SCATTER_VIEW_TAG, types.STRIDED_VIEW_TAG]
    return {
        "SimpleType": dict.fromkeys(tags, ""),
        "_CompositeType": dict.fromkeys(tags, ""),
        "AttributeTag": dict.fromkeys(range(attributes.INTEGER, attributes.BOUNDED + 1), ""),
        "DebugTag": dict.fromkeys(range(debug.COMPILE_UNIT, debug.CALL_SITE + 1), ""),
        "_Section": dict.fromkeys(SECTION_NAMES, ""),
        "PaddingValue": {number: name for name, number in PADDING.values.items()},
        "PtrAttr": {number: name for name, number in POINTER_ATTRIBUTES.items()},
        "SymbolVisibility": {number: name for name, number in SYMBOL_VISIBILITY.values.items()},
    }


def _enumeration_differences(found: dict[str, dict[str, int]], encoders: list[Encoder]) -> Iterator[str]:
    declared = _numbers()
    for encoder in encoders:
        declaration = REGISTRY.with_opcode(encoder.opcode)
        for attribute in declaration.attributes if declaration is not None else ():
            kind = enum_kind_of(attribute)
            if kind is not None and attribute.name in encoder.enumerations:
                public = {number: name for name, number in kind.values.items() if number < FIRST_DRAFT_ONLY_VALUE}
                declared[encoder.enumerations[attribute.name]] = public
    for name, members in found.items():
        if name == "BytecodeVersion" or not members:
            continue
        if name not in declared:
            yield f"new enumeration {name}: {', '.join([f'{each} = {number}' for each, number in members.items()])}"
            continue
        for member, number in members.items():
            expected = declared[name].get(number)
            if expected is None and number >= 0:
                yield f"new value {name}.{member}: {number}"
            elif expected and _plain(expected) != _plain(member):
                yield f"value {name}.{member}: {number}, declared {expected}"


def _plain(name: str) -> str:
    plain = name.lower().replace("_", "")
    return _ABBREVIATED.get(plain, plain)


def _function_differences(new: dict[str, str], before: dict[str, str]) -> Iterator[str]:
    """Of functions in both releases the lines that changed, of others the name."""
    for name in sorted({*new, *before}) if before else ():
        if _RECORD.fullmatch(name):
            continue
        if name not in before:
            yield f"new function {name}"
        elif name not in new:
            yield f"no function {name}"
        elif new[name] != before[name]:
            lines = difflib.unified_diff(before[name].splitlines(), new[name].splitlines(), lineterm="", n=0)
            changed = [line for line in list(lines)[2:] if not line.startswith("@@")]
            yield f"changed function {name}:\n    " + "\n    ".join(changed)


def _name_differences(strings: frozenset[str]) -> Iterator[str]:
    """The names of operations in a tool, and the versions that its messages name."""
    text = "\n".join(strings)
    names = set(re.findall(r"\bcuda_tile\.([a-z]\w*)", text))
    declared = [each for each in REGISTRY.declarations() if each.opcode is not None and not each.testing]
    by_name = {each.spelled_name(RELEASED): each for each in declared}
    for name in sorted(names - {*by_name, *_OTHER_NAMES, *ENUM_KINDS}):
        yield f"new name cuda_tile.{name}"
    for name in sorted({*by_name} - names):
        since = by_name[name].since
        if since is not None and since <= RELEASED:
            yield f"no name cuda_tile.{name}: declared since {version_text(since)}"
    gates = {gate[0]: gate[1] for gate in types.TAG_GATES.values()}
    for name, major, minor in sorted(set(re.findall(r"type '(\w+)' requires bytecode version (\d+)\.(\d+)", text))):
        version = (int(major), int(minor))
        if gates.get(name, VERSIONS[0]) != version:
            yield f"type {name}: since {version_text(version)}"
    for major, minor in sorted(set(re.findall(r"requires bytecode (?:version )?(\d+)\.(\d+)", text))):
        if (int(major), int(minor)) > RELEASED:
            yield f"new version {major}.{minor} in messages"


def _is_message(text: str) -> bool:
    """Whether a string has words in a row."""
    return re.search(r"[a-z]{2,}[ ,:'] ?[a-z'`]{2,}", text) is not None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m generators compare", description=__doc__)
    parser.add_argument("wheel", nargs="*", help="a wheel of cuda-tile or nvidia-cuda-tileiras; else what is installed")
    parser.add_argument("--before", action="append", default=[], metavar="WHEEL", help="a wheel of the release before")
    given = parser.parse_args(arguments)
    for place in (*given.wheel, *given.before):
        if not Path(place).exists():
            parser.error(f"cannot read '{place}': no such file or folder")
    new = release_in(given.wheel)
    if not (new.sources or new.strings):
        print(
            "no encoders of cuda-tile and no tileirdisasm: give wheels, or pip install cuda-tile nvidia-cuda-tileiras"
        )
        return 2
    found = differences(new, release_in(given.before) if given.before else None)
    reasons = {line: KNOWN.get(line.partition(":")[0], "") for line in found}
    for line, reason in reasons.items():
        print(line + (f" (known: {reason})" if reason else ""))
    names = [name for name, part in zip(COMPARED, new, strict=True) if part]
    print(f"{several(sum(not reason for reason in reasons.values()), 'difference')} in {' and '.join(names)}")
    if not given.before:
        print(f"Compared last with {', '.join([f'{name} {version}' for name, version in COMPARED.items()])}.")
        print("With --before and its wheels, functions written by hand and messages are compared, too.")
    return 0 if all(reasons.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
