"""What the cache keeps of kernels that Triton compiled, found without importing what compiles them.

A kernel has two entries.  Under a key of its structure, the options and the sources that lower it: the key of its TTIR,
and what a launch needs.  Under the key of the TTIR: the cubin.  The version of Triton is in the descriptions: another
one makes the code again, and without Triton it is used as it is.  A schedule that a search found is kept for a program,
a kind of launches, a GPU and a version of Triton.
"""

from __future__ import annotations

import os
from _blake2 import blake2b
from base64 import b64decode, b64encode
from typing import Any, Final

from tileir.execute.cache.code_cache import default_cache, hash_of_installed, hash_of_sources
from tileir.execute.gpu.cache import is_made_by, program_digest
from tileir.execute.gpu.cubin import Cubin, CubinError
from tileir.execute.gpu.triton.code import (
    AssertSite,
    Code,
    CodeOptions,
    PrintSite,
    Schedule,
    Slot,
    Specialization,
    TensorMap,
)
from tileir.execute.gpu.triton.toolchain import Triton, TritonTarget, installed_triton
from tileir.ir.core import Operation

_SITES: Final[dict[str, Any]] = {"failures": AssertSite, "output": PrintSite}

PARTS: Final = ("dialect", "execute", "ir", "passes", "rewrite")
"""The folders of the package that decide what TTIR a kernel becomes."""
NO_PART: Final = ("cpu", "driver", "recording", "sanitizer", "tileiras", "work")
"""The names of folders in them that do not.  What decides what becomes of TTIR is a part: the description of a kernel
names code that was made by it."""
TTIR_PARTS: Final = ("execute/gpu/triton/ttgir", "execute/gpu/triton/worker")
_ASSEMBLERS: Final = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")
"""Variables of Triton's that name another assembler than its own."""
_DRIVER_TYPES: Final = {8: 10, 9: 8, 10: 9}
"""Types that have another number in PTX, which Triton gives, than in CUtensorMapDataType, where bf16 is 9."""
_sources: bytes = b""
_worker_sources: bytes = b""
PREFIX: Final = "schedule-"


def packed(value: Any) -> Any:
    """Slots, or what a launch is specialized for, as JSON has them."""
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, frozenset):
        return sorted(value)
    return [packed(each) for each in value] if isinstance(value, tuple) else value


def unpacked_slot(kind: str, content: Any) -> Slot:
    if kind == "table":
        return Slot(kind, b64decode(content))
    if kind in _SITES:
        return Slot(kind, tuple([_SITES[kind](*as_tuples(each)) for each in content]))
    return Slot(kind, TensorMap(*as_tuples(content)) if kind == "descriptor" else as_tuples(content))


def as_tuples(value: Any) -> Any:
    return tuple([as_tuples(each) for each in value]) if isinstance(value, list) else value


def unpacked_specialization(packed: list[list[int]]) -> Specialization:
    divisors, described, short = packed
    return Specialization(tuple(divisors), frozenset(described), frozenset(short))


def program_key(entry: Operation, target: TritonTarget, options: CodeOptions) -> str:
    """The name under which the cache has what there is to know about a kernel."""
    special = options.specialization
    settings = (
        entry.symbol_name,
        target.name,
        options._replace(specialization=None),
        None if special is None else packed(special),
        _assemblers(),
    )
    return f"triton-{_digest(entry, settings)}"


def structure_key(entry: Operation) -> str:
    """The name under which the cache has what there is to know about a kernel whatever it is compiled for."""
    return f"views-{_digest(entry, (entry.symbol_name,))}"


def _digest(entry: Operation, settings: tuple[object, ...]) -> str:
    global _sources
    if not _sources:
        _sources = hash_of_installed() or hash_of_sources(NO_PART, PARTS)
    return program_digest(entry, settings, _sources, b"tileir triton")


def ttir_key(text: str, target: TritonTarget, options: dict[str, Any]) -> str:
    global _worker_sources
    if not _worker_sources:
        _worker_sources = hash_of_installed() or hash_of_sources((), TTIR_PARTS)
    digest = blake2b(_worker_sources, digest_size=20, person=b"tileir ttir")
    for part in (text, target.code, repr(sorted(options.items())), repr(_assemblers())):
        data = part.encode("utf-8", "surrogateescape")
        digest.update(len(data).to_bytes(8, "little") + data)
    return f"ttir-{digest.hexdigest()}"


def _assemblers() -> list[str]:
    return [os.environ.get(name, "") for name in _ASSEMBLERS]


def stored_code(key: str, triton: Triton | None) -> Code | None:
    cache = default_cache()
    known = cache.get(key)
    if known is None or (triton is not None and known[1].get("number") != list(triton.number)):
        return None
    found = cache.get(str(known[1].get("key")))
    if found is None or not is_made_by(found[1], triton):
        return None
    try:
        return code_of(found[0], found[1], known[1])
    except CubinError:
        return None


def code_of(data: bytes, made: dict[str, Any], known: dict[str, Any]) -> Code:
    """Code of what Triton `made`, and what is `known` of the kernel: two descriptions, as the cache has them."""
    metadata = made["metadata"]
    return Code(
        Cubin(data, str(metadata["name"]), str(made.get("version", ""))),
        metadata["num_warps"] * 32,
        metadata["shared"],
        _slots(known["slots"], metadata, made["parameters"]),
        Schedule(*known["schedule"]),
        unpacked_specialization(known["specialization"]),
        metadata.get("num_ctas", 1),
        tuple(known["notes"]),
    )


def _slots(packed: list[list[Any]], metadata: dict[str, Any], parameters: int) -> tuple[Slot, ...]:
    """The parameters of the code: descriptors as Triton wants them, and last its own, for scratch and its profiler."""
    descriptors = iter(metadata.get("tensordesc_meta") or ())
    found = [unpacked_slot(kind, content) for kind, content in packed]
    for number, slot in enumerate(found):
        if slot.kind == "descriptor":
            meta = next(descriptors)
            box, element = tuple(meta["block_size"]), _DRIVER_TYPES.get(meta["elem_type"], meta["elem_type"])
            map_ = slot.content._replace(box=box, element_type=element, swizzle=meta["swizzle"])
            found[number] = Slot("descriptor", map_)
    if metadata.get("global_scratch_size") and len(found) < parameters:
        size = metadata["global_scratch_size"] * metadata.get("num_ctas", 1)
        found.append(Slot("scratch", (size, metadata.get("global_scratch_align", 1))))
    return (*found, *[Slot("nothing")] * (parameters - len(found)))


def _key(entry: Operation, target: str, gpu: str, kind: Specialization, fast: bool) -> str:
    triton = installed_triton()
    version = "" if triton is None else triton.version
    parts = (structure_key(entry), target, gpu, packed(kind), fast, version)
    digest = blake2b(repr(parts).encode("utf-8", "surrogateescape"), digest_size=20, person=b"tileir schedule")
    return f"{PREFIX}{digest.hexdigest()}"


def kept_schedule(entry: Operation, target: str, gpu: str, kind: Specialization, fast: bool) -> Schedule | None:
    """The schedule that was found for such launches; None where nobody has searched."""
    found = default_cache().get(_key(entry, target, gpu, kind, fast))
    schedule = None if found is None else found[1].get("schedule")
    if not isinstance(schedule, list) or len(schedule) != len(Schedule._fields):
        return None
    return Schedule(*schedule)


def keep_schedule(
    entry: Operation, target: str, gpu: str, kind: Specialization, fast: bool, schedule: Schedule
) -> None:
    default_cache().put(_key(entry, target, gpu, kind, fast), b"", {"schedule": list(schedule)})
