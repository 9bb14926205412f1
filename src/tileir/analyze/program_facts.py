"""What is in a program: kernels, globals, operations, constants, debug information; of bytecode its layout as well."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

from tileir.analyze.producers import possible_producers
from tileir.bytecode import is_bytecode
from tileir.bytecode.container import ATTRIBUTE, SECTION_NAMES, origin_of, read_container
from tileir.bytecode.layouts import layout_of
from tileir.bytecode.primitives import Malformed
from tileir.dialect.availability import newer_features
from tileir.dialect.ops import ENTRY, GLOBAL, MODULE
from tileir.dialect.rules import signature
from tileir.execute.locations.source_locations import frames_of
from tileir.ir.attributes import StringAttribute
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.location import TextLocation
from tileir.ir.quoting import harmless, several
from tileir.ir.versions import RELEASED, VERSION_NAMES, version_named

# The most kinds of operations, and the most files of debug information, that are shown.
_MOST_SHOWN = 12


def file_facts(name: str, data: bytes) -> dict[str, Any]:
    """What the envelope of a file shows, also of one whose contents cannot be read."""
    facts: dict[str, Any] = {"file": name, "bytes": len(data), "kind": "text"}
    if not is_bytecode(data):
        return facts
    # The version stands after the magic; of a file that is cut off that may be all there is.
    version = f"{data[8]}.{data[9]}" if len(data) > 9 else None
    facts |= {"kind": "bytecode", "version": version, "layout": layout_of(data), "sections": []}
    with suppress(Malformed):
        container = read_container(data, known_sections=ATTRIBUTE)
        facts["version"] = container.version_name
        facts |= {"released": container.version <= RELEASED, "preview": container.is_preview}
        for each in container.order:
            section = {"name": SECTION_NAMES[each.identifier], "offset": each.header}
            facts["sections"].append({**section, "bytes": each.end - each.header})
    return facts


def program_facts(root: Operation) -> dict[str, Any]:
    """What is in a program that was read and verified."""
    modules = [operation for operation in root.walk() if operation.declaration is MODULE]
    producers = [p.value for module in modules if isinstance(p := module.attributes.get("producer"), StringAttribute)]
    everything = [o for o in root.walk() if o.declaration is not MODULE and not o.declaration.is_builtin]
    functions = [o for o in everything if "function_type" in o.declaration.inherent]
    operations = [o for o in everything if "function_type" not in o.declaration.inherent]
    # Positions in the text are no lines of a source.
    frames = [frames_of(o.location) for o in operations if not isinstance(o.location, TextLocation)]
    files = sorted({frame.file for each in frames for frame in each})
    attributes = [value for o in everything if o.declaration is not GLOBAL for value in o.attributes.values()]
    constants = [value for value in attributes if isinstance(value, DenseAttribute)]
    # One element of a constant whose elements are equal.
    size = sum(len(value.data) for value in set(constants))
    counts = Counter([o.declaration.mnemonic if o.name.startswith("cuda_tile.") else o.name for o in operations])
    origin = origin_of(root)
    return {
        "producer": producers[0] if producers else None,
        "possible_producers": [] if producers or origin is None else possible_producers(origin, files),
        "needs": next((n for n in VERSION_NAMES if not newer_features(root, version_named(n))), VERSION_NAMES[-1]),
        "modules": [module.symbol_name for module in modules],
        "functions": [
            {
                "name": function.symbol_name,
                "entry": function.declaration is ENTRY,
                "parameters": [type.spelling for type in signature(function).inputs],
                "operations": sum(1 for _ in function.walk()) - 1,
            }
            for function in functions
        ],
        "globals": [_global_facts(operation) for operation in operations if operation.declaration is GLOBAL],
        "operations": dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
        "constants": {"count": len(constants), "distinct": len(set(constants)), "bytes": size},
        "debug_info": {"operations": sum(map(bool, frames)), "of": len(operations), "files": files},
    }


def _global_facts(operation: Operation) -> dict[str, Any]:
    value = operation.value_attribute
    return {
        "name": operation.symbol_name,
        "type": value.type.spelling,
        "bytes": value.count * len(value.data) if value.is_splat else len(value.data),
        "constant": operation.constant,
    }


def facts_text(facts: dict[str, Any]) -> str:
    """The facts of a file, and of the program in it, for people."""
    head = f"{harmless(facts['file'])}: {facts['kind']}, {facts['bytes']} bytes"
    if facts["kind"] == "bytecode":
        states = [] if facts.get("released", True) else ["not released"]
        states += ["preview"] if facts.get("preview") else []
        state = f" ({', '.join(states)})" if states else ""
        head += f", version {facts['version'] or 'unknown'}{state}, {facts['layout']} layout"
    lines = [head, *(_program_lines(facts) if "operations" in facts else [])]
    lines += ["sections:"] if facts.get("sections") else []
    for section in facts.get("sections", ()):
        size = f"{section['bytes']:{len(str(facts['bytes']))}} bytes"
        lines.append(f"  {section['name']:9} {size} at offset {section['offset']:#x}")
    return "\n".join(lines)


def _program_lines(facts: dict[str, Any]) -> list[str]:
    possible = facts["possible_producers"]
    layout = f"not given, but laid out as by {' or '.join(possible)}" if possible else "not given"
    lines = [f"producer: {harmless(facts['producer'] or layout)}", f"needs version: {facts['needs']}"]
    for kind, title in ((True, "kernels"), (False, "other functions")):
        group = [function for function in facts["functions"] if function["entry"] is kind]
        if group or kind:
            lines.append(f"{title}:" if group else f"{title}: none")
        for function in group:
            size = several(function["operations"], "operation")
            lines.append(f"  @{harmless(function['name'])}({', '.join(function['parameters'])}): {size}")
    lines += ["globals:"] if facts["globals"] else []
    for item in facts["globals"]:
        constant = ", constant" if item["constant"] else ""
        lines.append(f"  @{harmless(item['name'])}: {item['type']}, {several(item['bytes'], 'byte')}{constant}")
    counts = facts["operations"]
    lines.append(f"operations: {sum(counts.values())} of {several(len(counts), 'kind')}")
    # "Others" are several.
    most = _MOST_SHOWN if len(counts) > _MOST_SHOWN + 1 else len(counts)
    rows, rest = list(counts.items())[:most], list(counts.values())[most:]
    width = max([len(name) for name, _ in rows], default=0)
    rows += [("others", f"{sum(rest)} of {several(len(rest), 'kind')}")] if rest else []
    lines.extend([f"  {harmless(name):{width}}  {count}" for name, count in rows])
    constants, debug = facts["constants"], facts["debug_info"]
    size = several(constants["bytes"], "byte")
    lines.append(f"constants: {constants['count']}, {constants['distinct']} of them different, {size}")
    if not debug["operations"]:
        return [*lines, "debug information: none"]
    lines.append(f"debug information: {debug['operations']} of {several(debug['of'], 'operation')}, from")
    lines.extend([f"  {harmless(file)}" for file in debug["files"][:_MOST_SHOWN]])
    if len(debug["files"]) > _MOST_SHOWN:
        lines.append(f"  and {len(debug['files']) - _MOST_SHOWN} other files")
    return lines
