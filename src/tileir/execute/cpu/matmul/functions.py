"""Functions beside the worker, which matmuls call: macro-kernels, packing, and the lookup of packed operands.

LLVM's passes leave them alone (`llvm_compile.AS_WRITTEN`): matmuls are 1.2 times as fast, and compile in a fraction of
the time.

The pack cache keeps packed operands, found by their indices, for the next tile blocks of a thread, which share most of
them.  An operand is cached if it depends only on indices and on memory that the kernel never writes.
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
    """Call a function, written at its first call; gives the i1 that it returns, if any.  Parameters are types and
    arguments by name; of pointers only some may `overlap`."""
    builder, module = emission.builder, emission.module
    name = f"{AS_WRITTEN}{name}"
    if name not in module.symbols:
        with builder.into([]) as lines:
            found = write() or "false"
            builder.do("ret void" if found == "false" else f"ret i1 {found}")
        module.symbols |= {name, f"{name}.i1"} if found != "false" else {name}
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
    emission: Emission, cache: PackCache, keys: list[Number], slot: Number, pack: Callable[[str], str]
) -> tuple[str, str]:
    """A pointer to a cached operand, which is packed if it is not there, and the i1 that packing it returned."""
    builder, suffix = emission.builder, emission.scratch_suffix
    slot = builder.emit(f"and i64 {slot}, {cache.slots - 1}")
    panel = builder.moved(emission.buffer(cache.panels), builder.multiply(slot, cache.panels.bytes // cache.slots))
    # The tag of a panel: the launch it was packed in, its indices, and what packing it returned.
    tag = builder.moved(emission.buffer(cache.tags), builder.multiply(slot, 8 * (len(keys) + 2)))
    words = [builder.emit(f"load i64, ptr {_launch_number(emission)}, align 8"), *keys]
    parameters = {"%tag": ("ptr", tag), **{f"%word{number}": ("i64", word) for number, word in enumerate(words)}}

    def write() -> str:
        pointers = [builder.moved("%tag", 8 * number) for number in range(len(words))]
        loaded = [builder.emit(f"load i64, ptr {pointer}, align 8") for pointer in pointers]
        same = builder.all_of([builder.emit(f"icmp eq i64 {word}, %word{n}") for n, word in enumerate(loaded)])
        # For what is about to be packed.
        for number, pointer in enumerate(pointers):
            builder.do(f"store i64 %word{number}, ptr {pointer}, align 8")
        return same

    is_cached = call_function(emission, f"tagged{len(words)}", parameters, write)
    answer = builder.moved(tag, 8 * len(words))
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


def clear_pack_cache(emission: Emission) -> None:
    """The memory behind packed operands may have changed."""
    builder, pointer = emission.builder, _launch_number(emission)
    number = builder.emit(f"load i64, ptr {pointer}, align 8")
    builder.do(f"store i64 {builder.add(number, 1 << 40)}, ptr {pointer}, align 8")


def _launch_number(emission: Emission) -> str:
    """A pointer to what tags begin with: a number that differs from one launch to the next."""
    pointer = emission.frame.stack("i64", 1, 8, "launch")
    emission.frame.add(f"%launch.first = load i64, ptr %scratch, align 8{emission.scratch_suffix}")
    emission.frame.add(f"store i64 %launch.first, ptr {pointer}, align 8")
    return pointer
