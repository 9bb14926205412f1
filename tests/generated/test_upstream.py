"""The comparison with releases of cuda-tile and tileiras finds nothing new in today's, and names what is new in others."""

from __future__ import annotations

import zipfile
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from generators import upstream
from generators.encoders import installed_sources
from generators.upstream import COMPARED, KNOWN, Release, differences, release_in

SOURCES = installed_sources()
needs_encoders = pytest.mark.skipif(not SOURCES, reason="pip install cuda-tile")


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@pytest.mark.parametrize("package", COMPARED)
def test_nothing_is_new_in_the_release_that_was_compared(package: str) -> None:
    if installed(package) != COMPARED[package]:
        pytest.skip(f"the declarations were compared with another release: pip install {package}=={COMPARED[package]}")
    sources, strings = release_in([])
    new = Release(sources, frozenset()) if package == "cuda-tile" else Release({}, strings)
    found = {line.partition(":")[0] for line in differences(new)}
    assert found == (set(KNOWN) if package == "cuda-tile" else set())


def changed(module: str, *replacements: tuple[str, str]) -> list[str]:
    """What is found in a copy of the encoders in which texts are replaced, and not in the encoders."""
    text = SOURCES[module]
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    found = differences(Release(SOURCES | {module: text}, frozenset()), Release(SOURCES, frozenset()))
    return [line for line in found if line not in known()]


@cache
def known() -> list[str]:
    return differences(Release(SOURCES, frozenset()))


#: An operation as a later release may add it.
SPIN = """
def encode_SpinOp(  # since 13.6
    code_builder: CodeBuilder,
    result_type: TypeId,  # since 13.6
    source: Value,  # since 13.6
    mask: Optional[Value],  # since 13.6
    rounding_mode: RoundingMode,  # since 13.6
    flush_to_zero: bool,  # since 13.6
) -> Value:
    _buf = code_builder.buf
    encode_varint(126, _buf)
    encode_typeid(result_type, _buf)
    encode_varint(bool(flush_to_zero) | ((mask is not None) << 1), _buf)
    code_builder.encode_opattr_enum(RoundingMode, rounding_mode)
    encode_operand(source, _buf)
    encode_optional_operand(mask, _buf)
    return code_builder.new_op()


__all__ = ["""


@needs_encoders
def test_new_version() -> None:
    found = changed("version", ("V_13_5 = 130500", "V_13_5 = 130500\n    V_13_6 = 130600"))
    assert found == ["new version 13.6"]


@needs_encoders
def test_new_operation() -> None:
    assert changed("encodings", ("\n__all__ = [", SPIN)) == [
        "new operation Spin: opcode 126 (0x7E), since 13.6, R F[0=flush_to_zero,1=mask] e:rounding_mode %source %mask?",
    ]


@needs_encoders
@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        (126, "operation FPowI: opcode 126, declared 121"),
        (2, "operation FPowI: opcode 2, which AddF has, declared 121"),
    ],
)
def test_other_opcode(opcode: int, expected: str) -> None:
    found = changed("encodings", ("encode_varint(121, _buf)", f"encode_varint({opcode}, _buf)"))
    assert found == [
        expected,
        "no operation FPowI: declared with opcode 121",
    ]


@needs_encoders
def test_other_version_of_an_operation() -> None:
    found = changed("encodings", ("def encode_FPowIOp(  # since 13.4", "def encode_FPowIOp(  # since 13.3"))
    assert found == ["operation FPowI: since 13.3, declared 13.4"]


@needs_encoders
def test_other_record() -> None:
    old = "    # Attributes\n    code_builder.encode_opattr_str(message)"
    found = changed("encodings", (old, f"{old}\n    code_builder.encode_opattr_bool(fatal)"))
    assert found == [
        "operation Assert: in 13.1 s:message b:fatal %condition, declared s:message %condition",
    ]
    new = "    if code_builder.version >= BytecodeVersion.V_13_5:\n        code_builder.encode_opattr_bool(fatal)"
    found = changed("encodings", (old, f"{old}\n{new}"))
    assert found[0] == "operation Assert: in 13.5 s:message b:fatal %condition, declared s:message %condition"


@needs_encoders
def test_new_and_renumbered_enumerators() -> None:
    old = 'NEAREST_AWAY = b"\\x07"'
    assert changed("encodings", (old, f'{old}\n    STOCHASTIC = b"\\x08"')) == ["new value RoundingMode.STOCHASTIC: 8"]
    found = changed("encodings", ('FULL = b"\\x05"', 'FULL = b"\\x04"'), ('APPROX = b"\\x04"', 'APPROX = b"\\x05"'))
    assert found == ["value RoundingMode.APPROX: 5, declared full", "value RoundingMode.FULL: 4, declared approx"]
    assert changed(
        "encodings", ("\nclass Signedness", '\nclass Size(enum.Enum):\n    BIG = b"\\x01"\n\n\nclass Signedness')
    ) == ["new enumeration Size: BIG = 1"]


@needs_encoders
@pytest.mark.parametrize(
    ("module", "old", "new", "expected"),
    [
        ("type", 'I4 = b"\\x16"', 'I2 = b"\\x17"\n    I4 = b"\\x16"', "new value SimpleType.I2: 23"),
        ("type", 'StridedView = b"\\x15"', 'StridedView = b"\\x17"', "new value _CompositeType.StridedView: 23"),
        ("type_base", 'Default = b"\\x00"', 'Default = b"\\x00"\n    Other = b"\\x07"', "new value PtrAttr.Other: 7"),
        ("attribute", 'Bounded = b"\\x0c"', 'Bounded = b"\\x0d"', "new value AttributeTag.Bounded: 13"),
        ("debug_info", 'CallSite = b"\\x06"', 'CallSite = b"\\x07"', "new value DebugTag.CallSite: 7"),
        ("writer", "Global = 0x06", "Global = 0x06\n    Extra = 0x09", "new value _Section.Extra: 9"),
    ],
)
def test_new_tags(module: str, old: str, new: str, expected: str) -> None:
    assert changed(module, (old, new)) == [expected]


@needs_encoders
def test_function_written_by_hand() -> None:
    found = changed("writer", ("_section(_Section.Type, 4, buf)", "_section(_Section.Type, 8, buf)"))
    assert found == [
        "changed function writer.write_bytecode:\n"
        "    -    with _section(_Section.Type, 4, buf) as section_buf:\n"
        "    +    with _section(_Section.Type, 8, buf) as section_buf:"
    ]
    assert changed("basic", ("def encode_varint_list", "def encode_list")) == [
        "new function basic.encode_list",
        "no function basic.encode_varint_list",
    ]


def test_tool_with_other_strings(tmp_path: Path) -> None:
    strings = sorted(release_in([]).strings)
    if not strings:
        pytest.skip("pip install nvidia-cuda-tileiras")
    gate = "' requires bytecode version 13.4+, file version is "
    later = "' requires bytecode version 13.6+, file version is "
    texts = [text.replace(gate, later) for text in strings if "cuda_tile.fpowi" not in text]
    texts += ["cuda_tile.spin", "spin count must be positive"]
    wheel = tmp_path / "nvidia_cuda_tileiras-99-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("nvidia/cu99/bin/tileirdisasm", "\0".join(texts))
    found = differences(release_in([str(wheel)]), Release({}, frozenset(strings)))
    assert found == [
        "new name cuda_tile.spin",
        "no name cuda_tile.fpowi: declared since 13.4",
        "type FloatNV8E5M3FNU: since 13.6",
        "new version 13.6 in messages",
        "new message: spin count must be positive",
        f"new message: type 'FloatNV8E5M3FNU{later}",
    ]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        upstream.main([str(tmp_path / "missing.whl")])
    assert "missing.whl': no such file" in capsys.readouterr().err
    assert upstream.main([str(tmp_path)]) == 2
    assert "no encoders of cuda-tile" in capsys.readouterr().out
    if not SOURCES:
        pytest.skip("pip install cuda-tile")
    wheel = tmp_path / "cuda_tile-99-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for name, text in SOURCES.items():
            file.writestr(f"cuda/tile/_bytecode/{name}.py", text.replace("V_13_5 = 130500", "V_13_6 = 130600"))
    assert upstream.main([str(wheel)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "new version 13.6" and "1 difference in cuda-tile" in out
