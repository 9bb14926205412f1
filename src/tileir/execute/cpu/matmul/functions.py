"""Functions beside the worker, which matmuls call: macro-kernels, packing, and the lookup of packed operands.

Each is a few loops that are written as they should be, and that need nothing of what the worker knows: apart from its
deep loop nest they take LLVM a fraction of the time.  LLVM's passes leave them alone (`llvm_compile.AS_WRITTEN`), which
makes matmuls 1.2 times as fast.  They are called once for a k-block, so that a call costs nothing.

The pack cache has packed operands that are kept from tile block to tile block: panels in scratch memory, found by their
indices.  Tile blocks that follow each other on a thread share most of their operands, so most are packed once for many
matmuls.  An operand is cached where it depends on nothing but indices, and on memory that the kernel never writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.ir.statements import PackCache
from tileir.execute.cpu.runtime.llvm_compile import AS_WRITTEN
from tileir.execute.cpu.vector.builder import Number


def call_function(
    emission: Emission,
    name: str,
    parameters: Mapping[str, tuple[str, Number]],
    write: Callable[[], str | None],
    overlap: tuple[str, ...] = (),
) -> str:
    """Call a function, which is written when it is first called; gives the i1 that it returns, if any.

    Parameters are types and arguments by name; of pointers only some may `overlap`.
    """
    builder, module = emission.builder, emission.module
    name = f"{AS_WRITTEN}{name}"
    if name not in module.symbols:
        with builder.into([]) as lines:
            found = write() or "false"
            builder.do("ret void" if found == "false" else f"ret i1 {found}")
        module.symbols.add(name)
        if found != "false":
            module.symbols.add(f"{name}.i1")
        apart = {each: " noalias" * (kind == "ptr" and each not in overlap) for each, (kind, _) in parameters.items()}
        listed = ", ".join([f"{kind}{apart[each]} {each}" for each, (kind, _) in parameters.items()])
        result = "void" if found == "false" else "i1"
        module.define(f"define internal {result} @{name}({listed}) noinline nounwind", lines)
    arguments = ", ".join([f"{kind} {value}" for kind, value in parameters.values()])
    if f"{name}.i1" in module.symbols:
        return builder.emit(f"call i1 @{name}({arguments})")
    builder.do(f"call void @{name}({arguments})")
    return "false"


# --- the pack cache ---


def cached_panel(
    emission: Emission, cache: PackCache, keys: list[Number], slot: Number, size: int, pack: Callable[[str], str]
) -> tuple[str, str]:
    """A pointer to a cached operand, which is packed if it is not there, and the i1 that packing it returned."""
    builder, suffix = emission.builder, emission.scratch_suffix
    slot = builder.emit(f"and i64 {slot}, {cache.slots - 1}")
    panel = builder.moved(emission.buffer(cache.panels), builder.multiply(slot, size))
    # The tag of a panel: the launch it was packed in, its indices, and what packing it returned.
    tag = builder.moved(emission.buffer(cache.tags), builder.multiply(slot, 8 * (len(keys) + 2)))
    launch = builder.emit(f"load i64, ptr {_launch_number(emission)}, align 8")
    is_cached = _is_tagged(emission, tag, [launch, *keys])
    answer = builder.moved(tag, 8 * (len(keys) + 1))
    found = "false"

    def missing() -> None:
        nonlocal found
        found = pack(panel)
        if found != "false":
            builder.do(f"store i64 {builder.emit(f'zext i1 {found} to i64')}, ptr {answer}, align 8{suffix}")

    builder.branch(is_cached, None, missing)
    if found == "false":
        return panel, "false"
    packed = builder.emit(f"load i64, ptr {answer}, align 8{suffix}")
    return panel, builder.emit(f"icmp ne i64 {packed}, 0")


def _is_tagged(emission: Emission, tag: str, expected: list[Number]) -> str:
    """An i1: a tag has these words; otherwise it is given them, for what is about to be packed."""
    builder = emission.builder
    names = [f"%word{number}" for number in range(len(expected))]

    def write() -> str:
        pointers = [builder.moved("%tag", 8 * number) for number in range(len(names))]
        words = [builder.emit(f"load i64, ptr {pointer}, align 8") for pointer in pointers]
        is_same = builder.all_of([builder.emit(f"icmp eq i64 {a}, {b}") for a, b in zip(words, names, strict=True)])
        for name, pointer in zip(names, pointers, strict=True):
            builder.do(f"store i64 {name}, ptr {pointer}, align 8")
        return is_same

    words = {name: ("i64", word) for name, word in zip(names, expected, strict=True)}
    return call_function(emission, f"tagged{len(expected)}", {"%tag": ("ptr", tag), **words}, write)


def clear_pack_cache(emission: Emission) -> None:
    """The memory behind packed operands may have changed."""
    builder = emission.builder
    pointer = _launch_number(emission)
    number = builder.emit(f"load i64, ptr {pointer}, align 8")
    builder.do(f"store i64 {builder.add(number, 1 << 40)}, ptr {pointer}, align 8")


def _launch_number(emission: Emission) -> str:
    """A pointer to what tags begin with: a number that differs from one launch to the next."""
    pointer = emission.frame.stack("i64", 1, 8, "launch")
    emission.frame.add(f"%launch.first = load i64, ptr %scratch, align 8{emission.scratch_suffix}")
    emission.frame.add(f"store i64 %launch.first, ptr {pointer}, align 8")
    return pointer
