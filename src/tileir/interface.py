"""The functions of the public interface."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tileir.bytecode import is_bytecode, is_text
from tileir.cpp import is_cpp
from tileir.ir.core import Module, Operation
from tileir.ir.declaration import HINT_MODES, VerifyContext
from tileir.ir.diagnostics import Diagnostic, OptionError, ParseError, VerifyError, has_errors, note
from tileir.ir.interning import HOOKS, Reduced
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import type_text
from tileir.ir.traversal import clone
from tileir.ir.values import Value
from tileir.ir.verifier import verify_operation
from tileir.ir.versions import NEWEST, NEWEST_NAME, Version, version_named
from tileir.text import printer as _printer  # noqa: F401  (installs the printer of operations)
from tileir.text.reading import parse_text

if TYPE_CHECKING:
    from mmap import mmap


def _reduced(thing: object) -> Reduced:
    # Imported here: few pickle anything.
    from tileir.pickling import reduced

    return reduced(thing)


def _copied(thing: object, memo: dict[int, object]) -> object:
    """A clone of an operation; in `memo`, as `copy.deepcopy` keeps it, is what became of everything in it."""
    assert isinstance(thing, Operation)
    values: dict[Value, Value] = {}
    copy = clone(thing, values)
    for old, new in values.items():
        memo[id(old)] = new
    for before, after in zip(thing.walk(), copy.walk(), strict=True):
        memo[id(before)] = after
        for region, new_region in zip(before.regions, after.regions, strict=True):
            memo[id(region)] = new_region
            for block, new_block in zip(region.blocks, new_region.blocks, strict=True):
                memo[id(block)] = new_block
    return copy


def _described(thing: object) -> str:
    # Imported here: who checks or runs a program looks at none of its parts.
    from tileir.descriptions import described

    return described(thing)


def _html(thing: object) -> str:
    from tileir.notebook import program

    return program(str(thing))


HOOKS.reduce = _reduced
HOOKS.clone = _copied
HOOKS.describe = _described
HOOKS.html = _html


def parse(
    text: str, name: str = "-", *, version: str = NEWEST_NAME, allow_unregistered: bool = False, verify: bool = False
) -> Module:
    """Parse a text into a module; `ParseError` carries every error.

    Positions name the text `name`.  `version`, "13.1" to "13.5", is the version of the dialect that the text is written
    in.  `allow_unregistered` accepts operations of undeclared dialects, in the generic form.  With `verify` the module
    is verified too, by the rules of that version, and errors are a `VerifyError`.

    >>> tileir.parse("entry @k() { return }", verify=True).name
    'cuda_tile.module'
    """
    if not isinstance(text, str):
        raise TypeError(f"a program's text is a string, not {type_text(text)}; tileir.load takes bytes")
    if not isinstance(name, str):
        raise TypeError(f"the name of a text is a string, not {type_text(name)}")
    try:
        module = parse_text(text, name, version_named(version), allow_unregistered)
    except ParseError as error:
        if "\n" not in text and text.endswith((".mlir", ".tileirbc")):
            error.diagnostics[0].notes.append(note("tileir.load reads a file, tileir.parse the text itself", UNKNOWN))
        raise
    if verify:
        _verify(module, version=version)
    return module


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | mmap,
    name: str | None = None,
    *,
    version: str = NEWEST_NAME,
    layout: str | None = None,
    allow_unregistered: bool = False,
    verify: bool = True,
    entry: str | Sequence[str] = (),
    defines: Mapping[str, object] | None = None,
    include: Sequence[str] = (),
) -> Module:
    """Read and verify the module in a file, or in the bytes of one: text or bytecode, recognized by content, or C++.

    Text is read as by `parse`, bytecode as by `from_bytecode`; options of the other are ignored.  Positions in a text
    name `name`, without it the file.  `verify=False` trusts what was read, be it text or bytecode.

    What ends in .cu or .cuh by its name is CUDA Tile C++, which NVIDIA's NVRTC compiles (`pip install 'tileir[cpp]'`):
    `entry` names the kernels to keep, one or several, instances of templates as `"scale<128>"`; `defines` are macros,
    `include` folders of headers.

    >>> tileir.load("examples/vector_add.mlir").name
    'cuda_tile.module'
    """
    if isinstance(source, (str, os.PathLike)):
        shown = os.fspath(source) if name is None else name
        try:
            with open(source, "rb") as file:
                data = file.read()
        except (OSError, ValueError):
            # A likely error: the text of a program instead of a path.
            if isinstance(source, str) and ("\n" in source or "{" in source):
                words = "the text of a program was given where the path of a file belongs: pass tileir.parse(text)"
                raise TypeError(words) from None
            raise
    else:
        shown = "-" if name is None else name
        data = _bytes_of(source, "the path of a file or from bytes")
    if is_cpp(shown) and not is_bytecode(data):
        return load_cpp(data, shown, names_given("entry", entry), defines=defines, include=include)
    if is_bytecode(data) or not is_text(data):
        return from_bytecode(data, version=version, layout=layout, verify=verify)
    text = data.decode("utf-8", "surrogateescape")
    return parse(text, shown, version=version, allow_unregistered=allow_unregistered, verify=verify)


def load_cpp(
    data: bytes,
    path: str,
    entry: Sequence[str] = (),
    instances: Sequence[str] = (),
    *,
    defines: Mapping[str, object] | None = None,
    include: Sequence[str] = (),
) -> Module:
    """The kernels of a C++ source that `entry` names; if it names none, all of them, with `instances` of templates."""
    from tileir.cpp.source import compile_cpp, keep_kernels

    found = compile_cpp(data, path, entry or instances, defines, include)
    module = from_bytecode(found.data)
    keep_kernels(module, found.symbols if entry else ())
    return module


def from_bytecode(
    data: bytes | bytearray | memoryview | mmap,
    *,
    version: str = NEWEST_NAME,
    layout: str | None = None,
    verify: bool = True,
) -> Module:
    """The module in a bytecode file, verified; `data` is bytes, or anything that has some, as a mapped file.

    Bytes that cannot be decoded are a `BytecodeError`, which carries `.offset` and `.diagnostics`.  As NVIDIA's reader
    does, this one verifies what it has decoded: nothing ensures that bytes describe a sound program, and everything
    that takes a module, its printer first, may rely on one.  A program that breaks a rule, or has what came after
    `version`, is a `VerifyError`; `verify=False` is for bytes of one's own.  `layout` is "public" or "documented";
    without it, the content decides.

    >>> str(tileir.from_bytecode(tileir.to_bytecode(module))) == str(module)
    True
    """
    from tileir.bytecode.layouts import from_bytes

    # Checked first: a wrong option is reported before a wrong file.
    version_named(version)
    module = from_bytes(_bytes_of(data, "bytes or a bytes-like object"), layout)
    if verify:
        _verify(module, version=version)
    return module


def check_module(module: object) -> None:
    """Refuse what is no program here, before an analysis fails on it."""
    if not isinstance(module, Operation):
        words = "tileir.parse, tileir.load and Builder.finish give one"
        raise TypeError(f"a module is needed, not {type_text(module)}: {words}")


def names_given(argument: str, value: object) -> tuple[str, ...]:
    """The names in an argument of a function: a string, or a list of strings."""
    if isinstance(value, str):
        return (value,)
    names: tuple[Any, ...] = tuple(value) if isinstance(value, Iterable) else (None,)
    if not all(isinstance(each, str) and each for each in names):
        raise TypeError(f"{argument} is a name or a list of names, not {repr(value)[:60]}")
    return names


def _bytes_of(data: object, sources: str) -> bytes:
    """The bytes of anything that has some."""
    if isinstance(data, bytes):
        return data
    try:
        return memoryview(data).tobytes()  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"a program is read from {sources}, not from {type_text(data)}") from None


def to_bytecode(
    module: Operation, *, version: str | None = None, layout: str = "public", preserve: bool = False
) -> bytes:
    """Encode a verified module as bytecode; `BytecodeError` names what the version or the layout cannot hold.

    The name of the module, locations without a debug scope (the pass "synthesize-debug-info-scopes" makes scopes) and,
    in the public layout, attributes that belong to no operation of the dialect are not part of bytecode and are left
    out; `tileir.losses` lists them, and `tileir as` prints that list.

    `version` is "13.1" to "13.5"; without it, the version of the file the module was read from, or else the newest that
    `layout` ("public" or "documented") has.  With `preserve` a module that was read from a file also gets the tables,
    the section order and the encoding choices of that file back: unchanged, it becomes the same bytes.

    >>> tileir.to_bytecode(module, version="13.1")[1:7]
    b'TileIR'
    """
    from tileir.bytecode.layouts import to_bytes

    check_module(module)
    return to_bytes(module, _written_version(module, version, layout), layout, preserve)


def _written_version(module: Operation, version: str | None, layout: str) -> Version:
    from tileir.bytecode.container import origin_of
    from tileir.bytecode.layouts import newest_version

    origin, number = origin_of(module), newest_version(layout)
    if version is not None:
        return version_named(version)
    if origin is None:
        return number
    # A file of a version that is not released is written as that version again.
    return origin.version if layout == "public" else min(number, origin.version)


def losses(module: Operation, *, version: str | None = None, layout: str = "public") -> list[Diagnostic]:
    """What a module has and its bytecode would not, as warnings: nothing is dropped in silence.

    `version` and `layout` are those of `to_bytecode`.  See there, and docs/reference/bytecode.md.

    >>> print(*tileir.losses(tileir.parse("cuda_tile.module @m { }")))
    -:1:1: warning: the name of the module, @m, cannot be in bytecode; it reads back as @kernels
    """
    from tileir.bytecode.layouts import check_layout, tile_module
    from tileir.bytecode.layouts import dropped_information as found

    check_module(module)
    check_layout(layout)
    return found(tile_module(module), layout, _written_version(module, version, layout))


def verify(module: Operation, *, hints: str = "ignore", version: str = NEWEST_NAME) -> list[Diagnostic]:
    """Verify a module; `VerifyError` carries every error, and warnings are returned.

    `version`, "13.1" to "13.5", is the version of the dialect: its rules hold, and newer features are errors, with the
    messages of `to_bytecode`.  `hints` is what to do about unknown optimization hints: "ignore", "warn" or "error".

    >>> tileir.verify(module, version="13.1")
    []
    """
    check_module(module)
    number = version_named(version)
    if hints not in HINT_MODES:
        raise OptionError(f"'{hints}' is not a way to treat hints: use one of {', '.join(HINT_MODES)}")
    context = VerifyContext(number, hints)
    verify_operation(module, context)
    if number < NEWEST:
        # Imported here: few callers request an earlier version.
        from tileir.dialect.availability import newer_features

        # One error per operation, as everywhere: its own broken rule comes first.
        reported = [diagnostic.location for diagnostic in context.diagnostics if diagnostic.severity == "error"]
        known = {id(location) for location in reported}
        context.diagnostics.extend([d for d in newer_features(module, number) if id(d.location) not in known])
    if has_errors(context.diagnostics):
        raise VerifyError(context.diagnostics)
    return context.diagnostics


# What `parse` and its like call: their own `verify` is an argument.
_verify = verify
