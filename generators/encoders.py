"""The bytecode encoders of a cuda-tile wheel, read from their sources without importing them.

They are generated from NVIDIA's definition of the dialect, so they show what a release adds.  Records are in the
notation of docs/reference/operations/records.md.
"""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final, NamedTuple

from tileir.ir.versions import V13_1, Version

_PACKAGE: Final = "cuda/tile/_bytecode"
_CODECS: Final = {
    "enum": "e",
    "int": "u",
    "bool": "b",
    "str": "s",
    "typeid": "type",
    "dense_typed_elements": "const",
    "dense_int32_array": "i32[]",
    "dense_bool_array": "i8[]",
    "array": "arr",
    "optimization_hints": "dict",
    "tagged": "tag",
}
_OPERANDS: Final = {
    "encode_operand": "%{}",
    "encode_optional_operand": "%{}?",
    "encode_sized_variadic_operands": "#%{}*",
    "encode_unsized_variadic_operands": "%{}*",
}


def sources_in(place: Path) -> dict[str, str]:
    """The modules of the encoders by name: of a wheel, or of a folder that has them; empty where there are none."""
    if zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as wheel:
            names = [name for name in wheel.namelist() if re.fullmatch(rf"{_PACKAGE}/\w+\.py", name)]
            return {Path(name).stem: wheel.read(name).decode() for name in names}
    for folder in (place / _PACKAGE, place):
        if (folder / "encodings.py").exists():
            return {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    return {}


def installed_sources() -> dict[str, str]:
    """Those of the installed cuda-tile."""
    try:
        return sources_in(Path(str(distribution("cuda-tile").locate_file(""))))
    except PackageNotFoundError:
        return {}


def versions_of(sources: dict[str, str]) -> list[Version]:
    numbers = enumerations_of({"version": sources["version"]})["BytecodeVersion"].values()
    return [(number // 10000, number // 100 % 100) for number in numbers]


def enumerations_of(sources: dict[str, str]) -> dict[str, dict[str, int]]:
    """The numbers of each enumeration by its name and those of its members."""
    return {
        node.name: {
            ast.unparse(statement.targets[0]): _number(statement.value.value)
            for statement in node.body
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        }
        for text in sources.values()
        for node in _parsed(text).body
        if isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(base) for base in node.bases)
    }


def _number(value: object) -> int:
    """The value of a member: a number, or the varint that is written; -1 where nothing is."""
    if isinstance(value, int):
        return value
    data = value if isinstance(value, bytes) else b""
    return sum((byte & 0x7F) << 7 * position for position, byte in enumerate(data)) if data else -1


def functions_of(sources: dict[str, str]) -> dict[str, str]:
    """The source of each function and method, without comments: what is written by hand has no form to read."""
    return {f"{module}.{name}": text for module in sorted(sources) for name, text in _texts(sources[module]).items()}


@cache
def _texts(text: str) -> dict[str, str]:
    return {name: ast.unparse(node) for name, node in _functions(_parsed(text), "")}


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


class Encoder(NamedTuple):
    """One operation: `since` has its version, under "", and those of the parameters that came later."""

    name: str
    opcode: int
    is_preview: bool
    since: dict[str, Version]
    node: ast.FunctionDef
    enumerations: dict[str, str]
    """The enumeration of each enumerator."""

    def record(self, version: Version) -> str:
        return " ".join(_Reader(self, version).parts)


def encoders_of(sources: dict[str, str]) -> list[Encoder]:
    text = sources["encodings"]
    lines = text.splitlines()
    found: list[Encoder] = []
    for node in _parsed(text).body:
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("encode_"):
            continue
        head = lines[node.lineno - 1]
        since = {"": _since(head) or V13_1}
        for argument in node.args.args:
            version = _since(lines[argument.lineno - 1])
            if version is not None and argument.lineno != node.lineno:
                since[argument.arg] = version
        enumerations = {
            ast.unparse(call.args[1]).rstrip("_"): ast.unparse(call.args[0])
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and _called(call) == "encode_opattr_enum"
        }
        opcode = next(
            call.args[0].value
            for call in ast.walk(node)
            if isinstance(call, ast.Call)
            and _called(call) == "encode_varint"
            and isinstance(call.args[0], ast.Constant)
        )
        assert isinstance(opcode, int)
        name = node.name.removeprefix("encode_").removesuffix("Op")
        found.append(Encoder(name, opcode, "# preview" in head, since, node, enumerations))
    return found


def _since(line: str) -> Version | None:
    found = re.search(r"# since (\d+)\.(\d+)", line)
    return (int(found[1]), int(found[2])) if found else None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


class _Reader:
    """Collects what an encoder writes behind the opcode for one version."""

    def __init__(self, encoder: Encoder, version: Version) -> None:
        self.encoder: Encoder = encoder
        self.version: Version = version
        self.parts: list[str] = []
        self.flags: ast.expr | None = None
        # Of a list that the encoder fills: how many results there are.
        self.results: int | None = None
        self._statements(encoder.node.body, "")

    def _statements(self, statements: list[ast.stmt], optional: str) -> None:
        for statement in statements:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "_flag_bits":
                self.flags = statement.value
            elif isinstance(statement, ast.Assign) and ast.unparse(statement.value) == "[]":
                self.results = 0
            elif isinstance(statement, ast.If):
                newer = re.fullmatch(
                    r"code_builder\.version >= BytecodeVersion\.V_(\d+)_(\d+)", ast.unparse(statement.test)
                )
                if newer is None:
                    self._statements(statement.body, "?")
                else:
                    is_newer = self.version >= (int(newer[1]), int(newer[2]))
                    self._statements(statement.body if is_newer else statement.orelse, optional)
            elif isinstance(statement, (ast.Expr, ast.Return)) and isinstance(statement.value, ast.Call):
                part = self._part(_called(statement.value), statement.value.args)
                if part:
                    self.parts.append(optional + part)

    def _part(self, called: str, arguments: list[ast.expr]) -> str:
        name = ast.unparse(arguments[-1 if called.startswith("encode_opattr_") else 0]).rstrip("_") if arguments else ""
        if called in _OPERANDS:
            return _OPERANDS[called].format(name) if self.encoder.since.get(name, V13_1) <= self.version else ""
        if called == "append" and self.results is not None:
            self.results += 1
            return ""
        if called.startswith("encode_opattr_"):
            kind = called.removeprefix("encode_opattr_")
            return f"{_CODECS.get(kind, kind)}:{name}"
        if called == "encode_typeid":
            return "R"
        if called == "encode_sized_typeid_seq":
            types = arguments[0]
            count = len(types.elts) if isinstance(types, ast.Tuple) else self.results
            return f"R#({'n' if count is None else count})"
        if called == "new_op_with_nested_blocks":
            return f"G{ast.unparse(arguments[1])}"
        if called == "encode_varint":
            return self._number(arguments[0])
        return "" if called in ("new_op", "ValueError") else f"{called}()"

    def _number(self, value: ast.expr) -> str:
        """The opcode, a number of operands, or flags."""
        if isinstance(value, ast.Constant):
            return ""
        if ast.unparse(value) == "_flag_bits" and self.flags is not None:
            value = self.flags
        elif any(isinstance(each, ast.Call) and _called(each) in ("len", "int") for each in ast.walk(value)):
            return "N"
        bits = [(bit, name) for bit, name in _bits(value) if self.encoder.since.get(name, V13_1) <= self.version]
        return f"F[{','.join([f'{bit}={name}'.rstrip('_') for bit, name in sorted(bits)])}]"


def _bits(value: ast.expr) -> Iterator[tuple[int, str]]:
    """The bits of flags and the parameters that set them."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
        yield from _bits(value.left)
        yield from _bits(value.right)
        return
    shift = 0
    if isinstance(value, ast.BinOp) and isinstance(value.right, ast.Constant) and isinstance(value.right.value, int):
        shift = value.right.value
    names = [each.id for each in ast.walk(value) if isinstance(each, ast.Name) and each.id != "bool"]
    yield shift, names[0] if names else ast.unparse(value)
