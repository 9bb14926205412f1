"""Version 13.5, which no published assembler reads, against its writers: the encoders of cuda-tile 1.7 and NVRTC 13.5."""

from __future__ import annotations

import contextlib
import enum
import functools
import io
import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from tests.bytecode.annotated import golden
from tests.bytecode.mutations import mutate
from tests.bytecode.pieces import File, split_functions, split_table
from tests.generators.programs import random_module

import tileir
from tileir.bytecode.container import STRING
from tileir.dialect.enums import MULTIMEM_REDUCTION
from tileir.dialect.ops import ENTRY, PREVIEW_CALL
from tileir.dialect.types import DYNAMIC
from tileir.ir.versions import PREVIEW
from tileir.passes.pipeline import PassReport, run_passes

bytecode = pytest.importorskip("cuda.tile._bytecode", reason="pip install 'cuda-tile>=1.7'")
encodings = pytest.importorskip("cuda.tile._bytecode.encodings", reason="pip install 'cuda-tile>=1.7'")
if not hasattr(bytecode.BytecodeVersion, "V_13_5"):
    pytest.skip(
        "the installed cuda-tile does not encode version 13.5: pip install 'cuda-tile>=1.7'", allow_module_level=True
    )


class Pointer(enum.Enum):
    """The attributes of the pointers here; cuda-tile does not write multicast ones yet."""

    NONE = b"\x00"
    UNICAST = b"\x01"
    MULTICAST = b"\x02"


ORDERING = encodings.MemoryOrderingSemantics
SCOPE = encodings.MemoryScope
REDUCTION = encodings.MultimemReductionKind
#: A record of cuda-tile: the builder, the types, and the values it may use (view, tile, index, token).
Encode = Callable[[Any, Any, Any, Any, Any, Any], object]


def tile_type(types: Any, element: str, *shape: int) -> Any:
    return types.tile(types.simple(bytecode.SimpleType[element]), shape)


def written_by_cuda_tile(
    encode: Encode, pointer: Pointer = Pointer.MULTICAST, hints: Any = None, scope: bool = False
) -> bytes:
    """A file with one entry, which makes a view over its argument and then has the record."""
    data = bytearray()
    with bytecode.write_bytecode(1, data, bytecode.BytecodeVersion.V_13_5) as writer:
        types, debug = writer.type_table, writer.debug_attr_table
        place = bytecode.DebugAttrId(0)
        if scope:
            file = debug.file("k.py", "/src")
            place = debug.loc(debug.subprogram(file, 7, "k", "k", debug.compile_unit(file), 8), "/src/k.py", 7, 3)
        element = types.simple(bytecode.SimpleType.F32)
        base, size = types.tile(types.pointer(element, pointer), []), tile_type(types, "I32")
        with writer.function("k", [base, size], [], True, hints or {}, place) as (builder, (argument, index)):
            tensor = types.tensor_view(element, [DYNAMIC, 64], [64, 1], pointer)
            view = types.partition_view([4, 2], tensor, [0, 1], bytecode.PaddingValue.Missing)
            made = encodings.encode_MakeTensorViewOp(builder, tensor, argument, [index], [])
            parts = encodings.encode_MakePartitionViewOp(builder, view, made)
            tile = encodings.encode_ConstantOp(builder, tile_type(types, "F32", 4, 2), b"\0\0\x80\x3f")
            token = encodings.encode_MakeTokenOp(builder, types.Token)
            encode(builder, types, parts, tile, index, token)
            encodings.encode_ReturnOp(builder, [])
    return bytes(data)


RECORDS: dict[str, tuple[str, Encode]] = {
    "load, weak": (
        "multimem_load_reduce_view_tko weak %pview[%arg1, %arg1], add :",
        lambda b, types, view, tile, index, token: encodings.encode_MultimemLoadReduceViewTkoOp(
            b,
            tile_type(types, "F32", 4, 2),
            types.Token,
            view,
            [index] * 2,
            None,
            ORDERING.WEAK,
            None,
            REDUCTION.ADD,
            [False, False],
        ),
    ),
    "load, acquire": (
        "multimem_load_reduce_view_tko acquire sys %pview[%arg1, %arg1], add token = %0 inbounds = [true, false] :",
        lambda b, types, view, tile, index, token: encodings.encode_MultimemLoadReduceViewTkoOp(
            *(b, tile_type(types, "F32", 4, 2), types.Token, view, [index] * 2, token),
            *(ORDERING.ACQUIRE, SCOPE.SYS, REDUCTION.ADD, [True, False]),
        ),
    ),
    "reduce": (
        "multimem_reduce_view_tko release device %pview[%arg1, %arg1], add, %cst_1_f32 token = %0 inbounds = ",
        lambda b, types, view, tile, index, token: encodings.encode_MultimemReduceViewTkoOp(
            *(b, types.Token, view, tile, [index] * 2, token),
            *(ORDERING.RELEASE, SCOPE.DEVICE, REDUCTION.ADD, [True, True]),
        ),
    ),
    "store, weak": (
        "multimem_store_view_tko weak %cst_1_f32, %pview[%arg1, %arg1] :",
        lambda b, types, view, tile, index, token: encodings.encode_MultimemStoreViewTkoOp(
            b, types.Token, view, tile, [index] * 2, None, ORDERING.WEAK, None, [False, False]
        ),
    ),
    "store, release": (
        "multimem_store_view_tko release sys %cst_1_f32, %pview[%arg1, %arg1] token = %0 inbounds = [false, true] :",
        lambda b, types, view, tile, index, token: encodings.encode_MultimemStoreViewTkoOp(
            b, types.Token, view, tile, [index] * 2, token, ORDERING.RELEASE, SCOPE.SYS, [False, True]
        ),
    ),
}


def atomic(inbounds: list[bool]) -> Encode:
    return lambda b, types, view, tile, index, token: encodings.encode_AtomicRedViewTkoOp(
        *(b, types.Token, view, [index] * 2, tile, token),
        *(ORDERING.RELAXED, SCOPE.DEVICE, encodings.AtomicRMWMode.ADDF, inbounds),
    )


def nothing(*_: object) -> None:
    """No record besides those of the frame."""


def written_back(data: bytes) -> tileir.Operation:
    """Check that a file is written back byte for byte, and its text gives an equal file; return its module."""
    module = tileir.from_bytecode(data)
    assert tileir.to_bytecode(module, version="13.5", preserve=True) == data
    plain = tileir.to_bytecode(module, version="13.5")
    again = tileir.parse(module.text(debug_info=True), verify=True)
    assert tileir.to_bytecode(again, version="13.5") == plain
    assert tileir.from_bytecode(plain).text() == module.text()
    return module


@pytest.mark.parametrize("name", RECORDS)
def test_records_on_several_devices_are_those_of_cuda_tile(name: str) -> None:
    spelling, encode = RECORDS[name]
    module = written_back(written_by_cuda_tile(encode))
    assert spelling in module.text()
    operation = spelling.partition(" ")[0]
    with pytest.raises(tileir.BytecodeError, match=r"pointer attribute 'ptr_attr' requires bytecode version 13\.5"):
        tileir.to_bytecode(module, version="13.4")
    with pytest.raises(tileir.VerifyError, match=f"'cuda_tile.{operation}' is not available in bytecode version 13.4"):
        tileir.verify(module, version="13.4")


@pytest.mark.parametrize("inbounds", [[False, False], [False, True]])
def test_a_reduction_into_a_view_has_inbounds(inbounds: list[bool]) -> None:
    module = written_back(written_by_cuda_tile(atomic(inbounds), Pointer.NONE))
    assert ("inbounds = [false, true]" in module.text()) is any(inbounds)
    if not any(inbounds):
        assert tileir.to_bytecode(module, version="13.4")
        return
    with pytest.raises(tileir.BytecodeError, match=r"inbounds.*requires bytecode version 13\.5"):
        tileir.to_bytecode(module, version="13.4")


def test_reductions_have_the_numbers_of_cuda_tile() -> None:
    numbers = {kind.name.lower(): kind.value for kind in REDUCTION}
    assert {name: bytes([number]) for name, number in MULTIMEM_REDUCTION.values.items()} == numbers


@pytest.mark.parametrize("warps", [None, 16])
def test_an_entry_always_has_hints(warps: int | None) -> None:
    from cuda.tile._bytecode.attribute import EntryHints

    hints = {} if warps is None else {"sm_100": EntryHints(num_worker_warps_per_cta=warps)}
    module = written_back(written_by_cuda_tile(nothing, Pointer.NONE, hints))
    assert ("num_worker_warps_per_cta = 16" in module.text()) is (warps is not None)
    assert tileir.from_bytecode(tileir.to_bytecode(module, version="13.4")).text() == module.text()


def test_an_entry_without_hints_is_refused() -> None:
    data = written_by_cuda_tile(nothing, Pointer.NONE)
    # The tags of no hints, then of no attributes of arguments.
    assert data.count(b"\x0b\x00\x06\x00") == 1
    with pytest.raises(tileir.BytecodeError, match="invalid optimization hints attribute for function 'k'"):
        tileir.from_bytecode(data.replace(b"\x0b\x00\x06\x00", b"\x06\x00\x06\x00"))


@pytest.mark.parametrize("version", ["13.1", "13.2", "13.3", "13.4", "13.5"])
def test_worker_warps_are_powers_of_two_up_to_32(version: str) -> None:
    """In every version; cuda-tile itself asks tileiras 13.3 and 13.4 for 4 and 8 only."""
    for warps in (1, 2, 3, 4, 8, 16, 32, 64):
        hints = f"optimization_hints = <sm_100 = {{num_worker_warps_per_cta = {warps} : i32}}>"
        module = tileir.parse(f"cuda_tile.module @kernels {{ entry @k() {hints} {{ return }} }}", version=version)
        if warps in (3, 64):
            with pytest.raises(tileir.VerifyError, match="expected power-of-two ≤ 32"):
                tileir.verify(module, version=version, hints="error")
        else:
            assert tileir.verify(module, version=version, hints="error") == []
            assert str(tileir.from_bytecode(tileir.to_bytecode(module, version=version))) == str(module)


def test_attributes_of_arguments_are_in_the_entry() -> None:
    from cuda.tile._bytecode.attribute import AttributeArray, Dictionary, DivBy
    from cuda.tile._bytecode.basic import StringTable

    arguments = "[{tileir.note = #cuda_tile.div_by<16>}, {}]"
    module = tileir.parse(
        '"cuda_tile.module"() <{sym_name = "kernels"}> ({ "cuda_tile.entry"() <{sym_name = "k", arg_attrs = '
        f"{arguments}, function_type = (tile<i32>, tile<i32>) -> ()}}> ({{ ^bb0(%a: tile<i32>, %b: tile<i32>): "
        '"cuda_tile.return"() : () -> () }) : () -> () }) : () -> ()',
        verify=True,
    )
    data = tileir.to_bytecode(module, version="13.5")
    ((function,), _) = split_functions(File.parse(data))
    strings, expected = StringTable(), bytearray(b"\x0b\x00")
    for text in split_table(File.parse(data).section(STRING)).blobs:
        assert strings[text]
    AttributeArray([Dictionary([("tileir.note", DivBy(16))]), Dictionary([])]).encode_tagged(strings, expected)
    assert function.hints == bytes(expected)
    assert tileir.from_bytecode(data).text() == module.text()


def test_a_subprogram_has_flags() -> None:
    module = written_back(written_by_cuda_tile(nothing, Pointer.NONE, scope=True))
    scope = "#cuda_tile.di_subprogram"
    text = module.text(debug_info=True)
    assert scope in text and "flags" not in text
    flagged = tileir.parse(text.replace("scopeLine = 8>", "scopeLine = 8, flags = 3>"))
    data = tileir.to_bytecode(flagged, version="13.5")
    assert "flags = 3" in tileir.from_bytecode(data).text(debug_info=True)
    with pytest.raises(tileir.BytecodeError, match=r"'k' has flags '3' which require bytecode version 13\.5"):
        tileir.to_bytecode(flagged, version="13.4")


def test_a_file_of_cuda_tile_cpp_is_written_back() -> None:
    """Made by NVRTC 13.5 of a kernel `twice(float* a)` that adds eight numbers to themselves."""
    module = written_back(golden("cpp_13.5.tileirbc"))
    assert module.attributes["producer"].text.startswith('"Cuda compilation tools, release 13.5')
    older = tileir.to_bytecode(module, version="13.4")
    assert tileir.from_bytecode(older).text() == module.text()


# --- the preview bit ---


def test_the_preview_bit_is_kept() -> None:
    data = bytearray(written_by_cuda_tile(nothing, Pointer.NONE))
    bytecode.patch_header_preview_flag(data, bytecode.BytecodeVersion.V_13_5)
    module = written_back(bytes(data))
    assert PREVIEW in module.attributes and tileir.to_bytecode(module, version="13.5")[10:12] == b"\1\0"
    with pytest.raises(
        tileir.BytecodeError, match="public-preview content, which is only valid at the current bytecode"
    ):
        tileir.to_bytecode(module, version="13.4")


def preview_call(arguments: bool, results: bool) -> Encode:
    from cuda.tile._bytecode.attribute import AttributeArray, Bool, Dictionary, DivBy

    note, nothing_more = Dictionary([("tileir.note", DivBy(16))]), Dictionary([])
    return lambda b, types, view, tile, index, token: encodings.encode_PreviewCallOp(
        *(b, [tile_type(types, "I32")], [index, tile], "outside.f", [DivBy(16), AttributeArray([Bool(True)])]),
        *([note, nothing_more] if arguments else None, [note] if results else None),
    )


@pytest.mark.parametrize(("arguments", "results"), [(False, False), (True, False), (False, True), (True, True)])
def test_a_call_of_a_preview_is_the_record_of_cuda_tile(arguments: bool, results: bool) -> None:
    data = bytearray(written_by_cuda_tile(preview_call(arguments, results), Pointer.NONE))
    with pytest.raises(tileir.VerifyError, match=r"uses preview feature 'cuda_tile\.preview\$call', .* not enabled"):
        tileir.from_bytecode(bytes(data))
    bytecode.patch_header_preview_flag(data, bytecode.BytecodeVersion.V_13_5)
    module = written_back(bytes(data))
    (call,) = [each for each in module.walk() if each.declaration is PREVIEW_CALL]
    assert call.callee.text == "@outside.f" and len(call.operands) == 2 and len(call.results) == 1
    given = {"arg_attrs": arguments, "res_attrs": results}
    assert {name: name in call.attributes for name in given} == given
    with pytest.raises(tileir.BytecodeError, match=r"'cuda_tile\.preview\$call' is not available in bytecode version"):
        tileir.to_bytecode(module, version="13.4")
    module.set_attribute(PREVIEW, None)
    with pytest.raises(tileir.VerifyError, match="not enabled"):
        tileir.verify(module)


def test_disassembly_says_that_a_file_is_a_preview(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from tileir.tools.bytecode import disassemble

    data = bytearray(written_by_cuda_tile(nothing, Pointer.NONE))
    bytecode.patch_header_preview_flag(data, bytecode.BytecodeVersion.V_13_5)
    path = tmp_path / "k.tileirbc"
    path.write_bytes(data)
    assert disassemble.run([str(path)]) == 0
    assert PREVIEW in tileir.parse(capsys.readouterr().out).attributes


def test_other_versions_have_no_preview_bit() -> None:
    data = bytearray(tileir.to_bytecode(tileir.parse("cuda_tile.module @kernels { }"), version="13.4"))
    data[10] = 1
    assert PREVIEW not in tileir.from_bytecode(bytes(data)).attributes


def test_info_says_what_is_not_released(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from tileir.tools.programs import info

    data = bytearray(golden("cpp_13.5.tileirbc"))
    path = tmp_path / "k.tileirbc"
    for tag, expected in (
        (0, "version 13.5 (not released), public"),
        (1, "version 13.5.1 (not released, preview), public"),
    ):
        data[10] = tag
        path.write_bytes(data)
        assert info.run([str(path)]) == 0
        printed = capsys.readouterr().out
        assert expected in printed and "producer: Cuda compilation tools, release 13.5" in printed


# --- broken files ---


@functools.cache
def files_of_this_version() -> list[bytes]:
    """Files with every new record, and random programs."""
    found = [golden("cpp_13.5.tileirbc"), written_by_cuda_tile(nothing, Pointer.NONE, scope=True)]
    found += [written_by_cuda_tile(encode) for _, encode in RECORDS.values()]
    found.append(written_by_cuda_tile(atomic([True, False]), Pointer.NONE))
    for module in (with_argument_attributes(), with_flags(), preview(preview_call(True, True))):
        found.append(tileir.to_bytecode(module, version="13.5"))
    for number in range(8):
        module = random_module(Random(number), size=12, draft_forms=False, locations=False, discardable=False)
        found.append(tileir.to_bytecode(module, version="13.5"))
    return found


@pytest.mark.parametrize(("seed", "count"), [(1, 400), pytest.param(2, 20_000, marks=pytest.mark.long)])
def test_a_broken_file_is_refused_or_is_another_program(seed: int, count: int) -> None:
    accepted = 0
    for number in range(count):
        random = Random(f"{seed}.{number}")
        data = random.choice(files_of_this_version())
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            _, data = mutate(data, random)
        try:
            module = tileir.from_bytecode(data)
        except tileir.TileIRError:
            continue
        accepted += 1
        is_preview = data[8:10] == b"\x0d\x05" and bool(data[10] & 1)
        assert (PREVIEW in module.attributes) is is_preview
        written = tileir.to_bytecode(module, version="13.5")
        assert (written[10] & 1 == 1) is is_preview
        assert tileir.from_bytecode(written).text() == module.text()
    assert accepted > count // 50


# --- older versions ---


def older(module: tileir.Operation, version: str) -> list[str]:
    """Rewrite a program for an older version, which must have bytes then; return the warnings."""
    report = PassReport()
    run_passes(module, [f"downlevel{{version={version}}}"], report=report)
    assert tileir.from_bytecode(tileir.to_bytecode(module, version=version)).text() == module.text()
    return [each.message for each in report.diagnostics]


def with_argument_attributes() -> tileir.Operation:
    module = tileir.from_bytecode(written_by_cuda_tile(nothing, Pointer.NONE))
    (entry,) = [each for each in module.walk() if each.declaration is ENTRY]
    entry.set_attribute("arg_attrs", [{"tileir.note": 1}, {}])
    return module


def with_flags() -> tileir.Operation:
    text = tileir.from_bytecode(written_by_cuda_tile(nothing, Pointer.NONE, scope=True)).text(debug_info=True)
    return tileir.parse(text.replace("scopeLine = 8>", "scopeLine = 8, flags = 3>"))


def with_inlined_flags() -> tileir.Operation:
    """Flags of the function that a `return` was inlined from alone."""
    text = with_flags().text(debug_info=True)
    flagged, plain = re.search(r"#cuda_tile\.di_subprogram<.*flags = 3>", text), "flags = 0"
    assert flagged is not None
    caller = flagged[0].replace("flags = 3", plain)
    text = text.replace(flagged[0], caller)
    callee = f'#cuda_tile.di_loc<loc("/src/k.py":9:1) in {flagged[0]}>'
    at = f'#cuda_tile.di_loc<loc("/src/k.py":7:3) in {caller}>'
    return tileir.parse(re.sub(r"return loc\(.*\)", f"return loc(callsite({callee} at {at}))", text))


def preview(encode: Encode) -> tileir.Operation:
    data = bytearray(written_by_cuda_tile(encode, Pointer.NONE))
    bytecode.patch_header_preview_flag(data, bytecode.BytecodeVersion.V_13_5)
    return tileir.from_bytecode(bytes(data))


REWRITTEN: dict[str, tuple[Callable[[], tileir.Operation], list[str]]] = {
    "in bounds": (lambda: tileir.from_bytecode(written_by_cuda_tile(atomic([True, True]), Pointer.NONE)), []),
    "unicast": (lambda: tileir.from_bytecode(written_by_cuda_tile(nothing, Pointer.UNICAST)), []),
    "hints": (lambda: tileir.from_bytecode(written_by_cuda_tile(nothing, Pointer.NONE)), []),
    "arguments": (with_argument_attributes, ["'cuda_tile.entry' op: attributes of arguments cannot be in 13.3"]),
}
REFUSED: dict[str, tuple[Callable[[], tileir.Operation], str]] = {
    **{
        name: (
            lambda encode=encode: tileir.from_bytecode(written_by_cuda_tile(encode)),  # type: ignore[misc]
            f"'cuda_tile.{spelling.partition(' ')[0]}' op needs version 13.5 and has no equivalent in 13.3",
        )
        for name, (spelling, encode) in RECORDS.items()
    },
    "multicast": (
        lambda: tileir.from_bytecode(written_by_cuda_tile(nothing)),
        "'ptr' needs version 13.5 and has no equivalent in 13.3",
    ),
    "flags": (with_flags, "has a debug scope with flags, which need version 13.5"),
    "inlined flags": (with_inlined_flags, "'cuda_tile.return' op has a debug scope with flags"),
    "preview": (lambda: preview(nothing), "is of a public preview, which needs version 13.5"),
    "preview call": (lambda: preview(preview_call(True, True)), "'cuda_tile.preview$call' op needs version 13.5"),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_what_an_older_version_can_express_is_rewritten(name: str) -> None:
    made, warnings = REWRITTEN[name]
    assert older(made(), "13.3") == warnings


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_equivalent_is_refused_with_the_reason(name: str) -> None:
    made, message = REFUSED[name]
    module = made()
    before = module.text(debug_info=True)
    with pytest.raises(tileir.errors.PassError) as caught:
        older(module, "13.3")
    assert any(message in each.message for each in caught.value.diagnostics)
    assert module.text(debug_info=True) == before


@pytest.mark.parametrize("name", REFUSED)
def test_the_verifier_of_an_older_version_and_its_writer_refuse_the_same(name: str, tmp_path: Any) -> None:
    from tileir.tools.programs import info

    module = REFUSED[name][0]()
    with pytest.raises(tileir.VerifyError):
        tileir.verify(module, version="13.4")
    with pytest.raises(tileir.BytecodeError):
        tileir.to_bytecode(module, version="13.4")
    path = tmp_path / "k.tileirbc"
    path.write_bytes(tileir.to_bytecode(module, version="13.5"))
    with contextlib.redirect_stdout(io.StringIO()) as output:
        assert info.run([str(path)]) == 0
    assert "needs version: 13.5" in output.getvalue()


def test_what_an_older_version_drops_is_reported(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from tileir.tools.bytecode import assemble

    module, path = with_argument_attributes(), tmp_path / "k.mlir"
    message = "attributes of arguments cannot be in bytecode 13.4 and are dropped"
    assert [each.message for each in tileir.losses(module, version="13.4")] == [message]
    assert tileir.losses(module) == tileir.losses(module, version="13.5") == []
    path.write_text(str(module))
    for version, lost in ((["--bytecode-version", "13.5"], False), ([], True)):
        assert assemble.run([str(path), "-o", str(tmp_path / "k.tileirbc"), *version]) == 0
        assert (message in capsys.readouterr().err) is lost


# --- backends ---


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_backends_refuse_calls_of_previews(backend: str) -> None:
    numpy = pytest.importorskip("numpy", reason="the backends need NumPy")
    data = bytearray(written_by_cuda_tile(preview_call(False, False), Pointer.NONE))
    bytecode.patch_header_preview_flag(data, bytecode.BytecodeVersion.V_13_5)
    kernel = tileir.compile(tileir.from_bytecode(bytes(data)), backend=backend)
    with pytest.raises(tileir.TileIRError, match=r"cannot run 'cuda_tile\.preview\$call': it calls a function that"):
        kernel.launch((1, 1, 1), (numpy.zeros((8, 64), numpy.float32), 8))
