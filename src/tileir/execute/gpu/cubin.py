"""Compiled kernels for a GPU: an ELF file that the CUDA driver loads, read without NVIDIA's tools.

The flags of the header name the GPU.  Sections: `.text.NAME` has instructions, `.nv.shared.NAME` is as large as shared
memory, `.nv.info.NAME` has parameters, threads and barriers, `.nv.info` registers and stack frames by symbol,
`.nv.host` an object file for the kind of host.  An attribute of `.nv.info` is a byte for the format, one for its kind,
and two bytes: the value or, in one format, the size of the value that follows.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from math import prod
from typing import Final, NamedTuple

from tileir.execute.errors import AssemblerWarning, LaunchError, warn_caller
from tileir.execute.locations.source_locations import user_location
from tileir.forking import cached_property
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.symbols import lookup_symbol

_MAGIC: Final = b"\x7fELF\x02\x01"
_MACHINE: Final = 190
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_NO_BITS: Final = 8
_HOSTS: Final = {62: "x86_64", 183: "aarch64"}
_NEWER_ABI: Final = 8
"""From this version of the ABI on the GPU is in the second byte of the flags, before in the first."""

# Attributes of `.nv.info`, and the format with a size.
_WITH_SIZE: Final = 4
_MAX_THREADS, _REQUIRED_THREADS, _FRAME_SIZE, _REGISTERS, _CLUSTER, _BARRIERS = 0x05, 0x10, 0x11, 0x2F, 0x3D, 0x4C
_PARAMETER, _NEWER_PARAMETER = 0x17, 0x45
"""The newer one of kernels for which the driver fills in descriptors of tensors, for TMA."""

# Instructions take 16 bytes; the lowest 12 bits are the opcode.
_INSTRUCTION: Final = 16
_STORE_LOCAL, _LOAD_LOCAL = 0x387, 0x983

_MOST_REGISTERS: Final = 255
_REGISTERS_OF_BLOCK: Final = 65536
_REGISTER_UNIT: Final = 8  # As many are given to a thread at once.


class CubinError(LaunchError):
    """Bytes are no cubin that can be used."""


class Parameter(NamedTuple):
    """Where the driver expects an argument, in bytes."""

    offset: int
    size: int


class Resources(NamedTuple):
    """What a kernel takes of a GPU."""

    kernel: str
    target: str
    registers: int  # For each thread, of 255.
    stack: int  # Bytes of local memory for each thread: spilled registers, and arrays with computed indices.
    local_stores: int  # Instructions that store to local memory.
    local_loads: int  # Instructions that load from it.
    shared: int  # Bytes of shared memory for each tile block.
    barriers: int
    threads: int  # Of each tile block; 0 if the launch chooses.
    code: int  # Bytes of instructions.
    parameters: tuple[Parameter, ...]
    cluster: int = 1
    """Thread blocks that a tile block is spread over, each with so many registers, threads and so much memory."""

    @property
    def spills(self) -> bool:
        """Whether values spill from registers to memory, which is slow.  This is a heuristic: kernels also have a stack
        for what they print, and for tables of f64 functions."""
        return bool(self.local_stores and self.local_loads) and self.registers + _REGISTER_UNIT > self.most_registers

    @property
    def most_registers(self) -> int:
        """How many registers each of so many threads can have."""
        return min(_MOST_REGISTERS, _REGISTERS_OF_BLOCK // max(self.threads, 1) // _REGISTER_UNIT * _REGISTER_UNIT)


class Cubin:
    """A compiled kernel: `data` is what the driver loads, `kernel` the kernel's name in it."""

    def __init__(self, data: bytes, kernel: str = "", version: str = "") -> None:
        self.data: Final = data
        self.version: Final = version  # Of the assembler that made it, as far as known.
        self._file: Final = _Elf(data)
        prefix = ".nv.info."
        kernels = [name.removeprefix(prefix) for name in self._file.sections if name.startswith(prefix)]
        self.kernels: Final = kernels
        if not kernel and len(kernels) == 1:
            kernel = kernels[0]
        if kernel not in kernels:
            problem = f"has no kernel '{kernel}'" if kernel else "has several kernels, and none was chosen"
            raise CubinError(f"the cubin {problem}: those in it are {', '.join(kernels) or 'none'}")
        self.kernel: Final = kernel
        self.target: Final = self._file.target  # The GPU, as `sm_90`.

    def __repr__(self) -> str:
        return f"<Cubin {self.kernel}, {self.target}, {len(self.data)} bytes>"

    @property
    def oldest_driver(self) -> int:
        """The CUDA version that a driver must support to load it, as in 12000; before 13, any minor version does."""
        return 13000 if self._file.abi >= _NEWER_ABI else 12000

    @cached_property
    def host(self) -> str:
        """The kind of machine that it is launched from, `x86_64` or `aarch64`; empty if on any."""
        found = self._file.section(".nv.host")
        if not found.startswith(_MAGIC) or len(found) < 20:
            return ""
        return _HOSTS.get(int.from_bytes(found[18:20], "little"), "another kind")

    @cached_property
    def _parameters(self) -> tuple[Parameter, ...]:
        found: dict[int, Parameter] = {}
        for attribute, value in self._file.attributes(f".nv.info.{self.kernel}"):
            if attribute in (_PARAMETER, _NEWER_PARAMETER) and len(value) == 12:
                _, ordinal, offset, rest = struct.unpack("<IHHI", value)
                found[ordinal] = Parameter(offset, rest >> 18 if attribute == _PARAMETER else rest & 0xFFFF)
        return tuple([found[ordinal] for ordinal in sorted(found)])

    @property
    def parameter_sizes(self) -> list[int] | None:
        """Bytes of each parameter; None if there are none, or they are described in a way that is new."""
        return [parameter.size for parameter in self._parameters] or None

    @cached_property
    def resources(self) -> Resources:
        file, kernel = self._file, self.kernel
        found = dict.fromkeys((_REGISTERS, _FRAME_SIZE, _BARRIERS, _REQUIRED_THREADS, _CLUSTER), 0)
        for attribute, value in (*file.attributes(".nv.info"), *file.attributes(f".nv.info.{kernel}")):
            if attribute in (_REGISTERS, _FRAME_SIZE) and len(value) == 8:
                symbol, number = struct.unpack("<II", value)
                if file.symbol(symbol) == kernel:
                    found[attribute] = number
            elif attribute == _BARRIERS:
                found[attribute] = value[0]
            elif attribute in (_MAX_THREADS, _REQUIRED_THREADS, _CLUSTER) and len(value) == 12:
                name = _CLUSTER if attribute == _CLUSTER else _REQUIRED_THREADS
                found[name] = prod(struct.unpack("<III", value))
        code = file.section(f".text.{kernel}")
        operations = [code[n] | (code[n + 1] & 0xF) << 8 for n in range(0, len(code) - 1, _INSTRUCTION)]
        return Resources(
            kernel=kernel, target=self.target, registers=found[_REGISTERS], stack=found[_FRAME_SIZE],
            local_stores=operations.count(_STORE_LOCAL), local_loads=operations.count(_LOAD_LOCAL),
            shared=file.size(f".nv.shared.{kernel}"), barriers=found[_BARRIERS], threads=found[_REQUIRED_THREADS],
            code=len(code), parameters=self._parameters, cluster=max(found[_CLUSTER], 1),
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        with open(path, "wb") as file:
            file.write(self.data)


def cubin_of(entry: Operation, data: bytes) -> Cubin:
    """The cubin of a kernel: by its name, or the only one there is, which may have another but not another kernel's."""
    try:
        return Cubin(data, entry.symbol_name or "")
    except CubinError:
        found = Cubin(data)
        module = entry.parent_operation
        if module is not None and lookup_symbol(module, found.kernel) is not None:
            raise
        return found


class _Elf:
    def __init__(self, data: bytes) -> None:
        self._data: Final = data
        if not data.startswith(_MAGIC) or len(data) < _HEADER.size:
            raise CubinError("this is no cubin: it does not begin like a 64-bit ELF file")
        header = _HEADER.unpack_from(data)
        identification, machine, flags = header[0], header[2], header[7]
        if machine != _MACHINE:
            raise CubinError(f"this is no cubin: it is an ELF file for machine {machine}, and {_MACHINE} is CUDA")
        self.abi: Final = identification[8]
        number = flags >> 8 & 0xFF if self.abi >= _NEWER_ABI else flags & 0xFF
        self.target: Final = f"sm_{number}"
        self.sections: Final = self._read_sections(header[6], *header[11:14])
        """The type, place and size of each, by name."""

    def _read_sections(self, start: int, size: int, count: int, names: int) -> dict[str, tuple[int, int, int]]:
        if size != _SECTION.size or start + size * count > len(self._data) or names >= count:
            raise CubinError("the cubin is not whole: it ends before its table of sections does")
        rows = [_SECTION.unpack_from(self._data, start + number * size) for number in range(count)]
        strings = rows[names][4]
        found: dict[str, tuple[int, int, int]] = {}
        for name, kind, _, _, offset, length, *_ in rows:
            if kind != _NO_BITS and offset + length > len(self._data):
                raise CubinError("the cubin is not whole: one of its sections is behind its end")
            found[self._string(strings + name)] = (kind, offset, length)
        return found

    def _string(self, offset: int) -> str:
        end = self._data.find(b"\0", offset)
        return self._data[offset : end if end >= 0 else len(self._data)].decode("utf-8", "replace")

    def section(self, name: str) -> bytes:
        kind, offset, size = self.sections.get(name, (_NO_BITS, 0, 0))
        return b"" if kind == _NO_BITS else self._data[offset : offset + size]

    def size(self, name: str) -> int:
        """How many bytes a section stands for, be they in the file or not."""
        return self.sections.get(name, (0, 0, 0))[2]

    def symbol(self, number: int) -> str:
        _, offset, size = self.sections.get(".symtab", (0, 0, 0))
        if (number + 1) * _SYMBOL.size > size:
            return ""
        name = _SYMBOL.unpack_from(self._data, offset + number * _SYMBOL.size)[0]
        return self._string(self.sections.get(".strtab", (0, 0, 0))[1] + name)

    def attributes(self, name: str) -> Iterator[tuple[int, bytes]]:
        """The attributes in a section of `.nv.info`, with their values."""
        data = self.section(name)
        at = 0
        while at + 4 <= len(data):
            kind, attribute, value = data[at], data[at + 1], data[at + 2 : at + 4]
            at += 4
            if kind == _WITH_SIZE:
                size = int.from_bytes(value, "little")
                value = data[at : at + size]
                at += size
            yield attribute, value


def spill_warning(entry: Operation, resources: Resources) -> Diagnostic:
    words = (
        f"kernel @{entry.symbol_name} runs out of registers on {resources.target}: it keeps {resources.stack} bytes "
        f"for each thread in memory, with {resources.local_stores} stores and {resources.local_loads} loads; "
        "use smaller tiles"
    )
    return Diagnostic("warning", words, user_location(entry.location))


def warn_of(diagnostics: list[Diagnostic]) -> None:
    """Warn of what a compiler has warned of, at the caller's line."""
    for each in diagnostics:
        if each.severity == "warning":
            warn_caller(each.render(), AssemblerWarning)
