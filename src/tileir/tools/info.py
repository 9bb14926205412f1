"""`tileir info`: what is installed and which engines can work here, or what is in a program."""

from __future__ import annotations

import json
import platform
import sys
from typing import TYPE_CHECKING, Any

from tileir.bytecode import is_bytecode
from tileir.bytecode.container import ATTRIBUTE, SECTION_NAMES, Container, read_container
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
from tileir.ir.quoting import harmless, harmless_line, several
from tileir.ir.versions import VERSION_NAMES, version_named
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Usage
from tileir.tools.command import command, for_each_file, print_diagnostics
from tileir.tools.main import identity_text
from tileir.tools.options import JSON, READING_OPTIONS, SCRIPT
from tileir.tools.programs import BYTECODE, Program, is_script, name_of, program_in, read_bytes, read_programs

if TYPE_CHECKING:
    from tileir.execute.engine.interface import Engine

USAGE = Usage(
    "tileir info",
    "Shows what is in a program; without one, versions and the engines that --backend and backend= accept.",
    "[FILE|SCRIPT.py...]",
    (
        JSON.with_help("print one JSON object per line: for each file, or for this installation"),
        *READING_OPTIONS,
    ),
    details=f"""\
{SCRIPT} Its kernels are then shown.

For a program, text or bytecode: kernels with the types of their parameters, globals, the number of operations of each
kind, constants, debug information, the first version of the dialect that has all of it, and for bytecode also its
version, layout and sections. Without FILE: the engines, and why one is not available; and what confines programs that
are judged ('tileir docs judging').

FILE may be '-' for standard input.""",
)

# Of the kinds of operations, and of the files that debug information names, as many are shown to people.
_MOST_SHOWN = 12


@command(USAGE)
def run(given: Arguments) -> int:
    if not given.operands:
        _show_installation(given.has("json"))
        return EXIT_FINE
    is_first = True

    def show(path: str) -> int:
        nonlocal is_first
        if not is_first and not given.has("json"):
            print()
        is_first = False
        return _show_file(path, given)

    return for_each_file(given, show)


def _show_file(path: str, given: Arguments) -> int:
    if not is_script(path):
        data, name = read_bytes(path), name_of(path)
        return _show_facts(name, data, program_in(data, name, given), given)
    status = EXIT_FINE
    for number, program in enumerate(read_programs(path, given)):
        if number and not given.has("json"):
            print()
        assert program.launch is not None
        status = max(status, _show_facts(path, program.launch.data, program, given))
    return status


def _show_facts(name: str, data: bytes, program: Program, given: Arguments) -> int:
    facts = file_facts(name, data)
    if program.module is not None:
        facts.update(program_facts(program.module))
    if given.has("json"):
        print(json.dumps(facts))
    elif program.module is not None or facts["kind"] == BYTECODE:
        print(facts_text(facts))
    sys.stdout.flush()
    print_diagnostics([diagnostic for diagnostic in program.diagnostics if diagnostic.severity == "error"], given)
    return EXIT_WRONG_INPUT if program.module is None else EXIT_FINE


# --- this installation ---


def _show_installation(as_json: bool) -> None:
    found = _installation()
    if as_json:
        print(json.dumps(found))
        return
    print(f"{identity_text()}\nPython {found['python']}, {found['machine']} ({sys.executable})")
    print(f"the reading, checking and printing of programs is {found['build']}")
    print("\nengines:")
    engines: dict[str, dict[str, Any]] = found["engines"]
    width = max([len(name) for name in engines])
    for name, engine in engines.items():
        if not engine["summary"]:
            # A plugin that cannot be loaded.
            print(f"  {harmless_line(name):{width}}  {harmless_line(engine['missing'])}")
            continue
        lines = [engine["summary"]]
        if engine["missing"]:
            lines.append(f"cannot work here: {engine['missing']}")
        lines += [f"{fact}: {what}" for fact, what in engine["facts"].items()]
        for number, line in enumerate(lines):
            print(f"  {'' if number else name:{width}}  {harmless_line(line)}")
    print(f"  {'auto':{width}}  {harmless_line('on a GPU: ' + found['auto']['gpu'])}")
    print("\nprograms that are judged are confined by:")
    for name, what in found["confinement"].items():
        print(f"  {name}: {what}")


def _installation() -> dict[str, Any]:
    from tileir import __version__
    from tileir.execute.engine.registry import all_engines, gpu_choice_words
    from tileir.ir.versions import NEWEST_NAME
    from tileir.processes.sandbox import in_force

    engines, failures = all_engines()
    found: dict[str, Any] = {}
    for engine in engines:
        missing, facts = _state(engine)
        found[engine.name] = {
            "summary": engine.summary or engine.called,
            "missing": missing or None,
            "facts": {name: str(what) for name, what in facts.items()},
        }
    found |= {name: {"summary": "", "missing": reason, "facts": {}} for name, reason in failures.items()}
    return {
        "version": __version__,
        "dialect": NEWEST_NAME,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "build": _build(),
        "engines": found,
        "auto": {"gpu": gpu_choice_words()},
        "confinement": in_force(),
    }


def _build() -> str:
    """How this tileir was built (hatch_build.py)."""
    from tileir.ir import core

    return "compiled" if str(core.__file__).endswith((".so", ".pyd")) else "pure Python"


def _state(engine: Engine) -> tuple[str, dict[str, Any]]:
    """Why an engine cannot work here, and what it says of itself."""
    from tileir.execute.engine.registry import why_missing

    missing = why_missing(engine)
    try:
        return missing, dict(engine.facts())
    except Exception as error:
        # What it needs is missing; somebody else's code; or a package that is installed and broken.
        return missing or f"{type(error).__name__}: {error}", {}


# --- a program ---


def file_facts(name: str, data: bytes) -> dict[str, Any]:
    """What the outside of a file says, also of one whose inside cannot be read."""
    facts: dict[str, Any] = {"file": name, "bytes": len(data), "kind": "text"}
    if is_bytecode(data):
        # The version stands after the magic; of a file that is cut off that may be all there is.
        version = f"{data[8]}.{data[9]}" if len(data) > 9 else None
        facts.update({"kind": "bytecode", "version": version, "layout": layout_of(data), "sections": []})
        container = _container(data)
        if container is not None:
            facts["version"] = container.version_name
            facts["sections"] = [
                {
                    "name": SECTION_NAMES[section.identifier],
                    "offset": section.header,
                    "bytes": section.end - section.header,
                }
                for section in container.order
            ]
    return facts


def _container(data: bytes) -> Container | None:
    try:
        return read_container(data, known_sections=ATTRIBUTE)
    except Malformed:
        return None


def program_facts(root: Operation) -> dict[str, Any]:
    """What is in a program that was read and verified."""
    modules = [operation for operation in root.walk() if operation.declaration is MODULE]
    producers = [p.value for module in modules if isinstance(p := module.attributes.get("producer"), StringAttribute)]
    operations = [o for o in root.walk() if o.declaration is not MODULE and not o.declaration.is_builtin]
    functions = [o for o in operations if _is_function(o)]
    counts: dict[str, int] = {}
    for operation in operations:
        if not _is_function(operation):
            name = operation.declaration.mnemonic if operation.name.startswith("cuda_tile.") else operation.name
            counts[name] = counts.get(name, 0) + 1
    return {
        "producer": producers[0] if producers else None,
        "needs": _needed_version(root),
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
        "constants": _constant_facts([o for o in operations if o.declaration is not GLOBAL]),
        "debug_info": _debug_facts([o for o in operations if not _is_function(o)]),
    }


def _is_function(operation: Operation) -> bool:
    return "function_type" in operation.declaration.inherent


def _needed_version(root: Operation) -> str:
    """The first version that has everything in a program."""
    for name in VERSION_NAMES:
        if not newer_features(root, version_named(name)):
            return name
    return VERSION_NAMES[-1]


def _global_facts(operation: Operation) -> dict[str, Any]:
    value = operation.value_attribute
    return {
        "name": operation.symbol_name,
        "type": value.type.spelling,
        "bytes": value.count * len(value.data) if value.is_splat else len(value.data),
        "constant": operation.constant,
    }


def _constant_facts(operations: list[Operation]) -> dict[str, int]:
    """How many constants there are, and the bytes of their elements; one for a constant whose elements are equal."""
    values = [v for operation in operations for v in operation.attributes.values() if isinstance(v, DenseAttribute)]
    return {"count": len(values), "distinct": len(set(values)), "bytes": sum(len(v.data) for v in set(values))}


def _debug_facts(operations: list[Operation]) -> dict[str, Any]:
    """How many operations name a line of a source, and which files those are; positions in the text are none."""
    files: dict[str, None] = {}
    located = 0
    for operation in operations:
        if isinstance(operation.location, TextLocation):
            continue
        frames = frames_of(operation.location)
        located += bool(frames)
        files.update(dict.fromkeys([frame.file for frame in frames]))
    return {"operations": located, "of": len(operations), "files": sorted(files)}


# --- for people ---


def facts_text(facts: dict[str, Any]) -> str:
    return harmless("\n".join(_lines(facts)), keep="\n")


def _lines(facts: dict[str, Any]) -> list[str]:
    head = f"{_shown(facts['file'])}: {facts['kind']}, {facts['bytes']} bytes"
    if facts["kind"] == "bytecode":
        head += f", version {facts['version'] or 'unknown'}, {facts['layout']} layout"
    lines = [head]
    if "operations" in facts:
        lines.extend(_program_lines(facts))
    if facts.get("sections"):
        lines.append("sections:")
        width = len(str(facts["bytes"]))
        for section in facts["sections"]:
            size = f"{section['bytes']:{width}} bytes"
            lines.append(f"  {section['name']:9} {size} at offset {section['offset']:#x}")
    return lines


def _program_lines(facts: dict[str, Any]) -> list[str]:
    lines = [f"producer: {_shown(facts['producer'] or 'not given')}", f"needs version: {facts['needs']}"]
    for kind, title in ((True, "kernels"), (False, "other functions")):
        group = [function for function in facts["functions"] if function["entry"] is kind]
        if group or kind:
            lines.append(f"{title}:" if group else f"{title}: none")
        for function in group:
            size = several(function["operations"], "operation")
            lines.append(f"  @{_shown(function['name'])}({', '.join(function['parameters'])}): {size}")
    if facts["globals"]:
        lines.append("globals:")
    for item in facts["globals"]:
        constant = ", constant" if item["constant"] else ""
        lines.append(f"  @{_shown(item['name'])}: {item['type']}, {several(item['bytes'], 'byte')}{constant}")
    counts = facts["operations"]
    lines.append(f"operations: {sum(counts.values())} of {several(len(counts), 'kind')}")
    # "Others" are several.
    shown = list(counts.items())[: len(counts) if len(counts) == _MOST_SHOWN + 1 else _MOST_SHOWN]
    width = max([len(name) for name, _ in shown], default=0)
    lines.extend([f"  {_shown(name):{width}}  {count}" for name, count in shown])
    if len(counts) > len(shown):
        rest = list(counts.values())[_MOST_SHOWN:]
        lines.append(f"  {'others':{width}}  {sum(rest)} of {several(len(rest), 'kind')}")
    constants = facts["constants"]
    size = several(constants["bytes"], "byte")
    lines.append(f"constants: {constants['count']}, {constants['distinct']} of them different, {size}")
    debug = facts["debug_info"]
    if not debug["operations"]:
        return [*lines, "debug information: none"]
    lines.append(f"debug information: {debug['operations']} of {several(debug['of'], 'operation')}, from")
    lines.extend([f"  {_shown(file)}" for file in debug["files"][:_MOST_SHOWN]])
    if len(debug["files"]) > _MOST_SHOWN:
        lines.append(f"  and {len(debug['files']) - _MOST_SHOWN} other files")
    return lines


def _shown(text: str) -> str:
    return harmless(text)
