"""Atomic operations: every mode, element type, memory order and scope, masked and unmasked."""

import cuda.tile as ct
from tests.kernels.case import SINCE_13_3, KernelCase, array, scalar

Order, Scope = ct.MemoryOrder, ct.MemoryScope


@ct.kernel
def arithmetic(counters, out):
    lanes = ct.arange(32, dtype=ct.int32)
    one = ct.ones((32,), counters.dtype)
    old = ct.atomic_add(counters, lanes, one)
    old += ct.atomic_max(counters, lanes, one + one, memory_order=Order.RELAXED, memory_scope=Scope.BLOCK)
    old += ct.atomic_min(counters, lanes, old, memory_order=Order.RELEASE, memory_scope=Scope.SYS)
    old += ct.atomic_xchg(counters, lanes, lanes.astype(counters.dtype), memory_order=Order.ACQUIRE)
    ct.store(out, (0,), old)


@ct.kernel
def bitwise(masks, out):
    lanes = ct.arange(32, dtype=ct.int32)
    bits = ct.full((32,), 5, masks.dtype)
    old = ct.atomic_and(masks, lanes, bits)
    old ^= ct.atomic_or(masks, lanes, bits, check_bounds=False)
    old ^= ct.atomic_xor(masks, lanes, bits, check_bounds=False, memory_order=Order.RELAXED, memory_scope=Scope.DEVICE)
    ct.store(out, (0,), old)


@ct.kernel
def accumulate(values, totals):
    t = ct.load(values, (ct.bid(0),), (64,))
    # tileir: ignore[order-dependent-sum]: it is what is tested
    ct.atomic_add(totals, ct.arange(64, dtype=ct.int32), t, memory_order=Order.RELAXED)


@ct.kernel
def exchange_float(values, out):
    lanes = ct.arange(16, dtype=ct.int32)
    old = ct.atomic_xchg(values, lanes, 1.5)
    old = old + ct.atomic_cas(values, lanes, 1.5, 2.5, memory_scope=Scope.SYS)
    ct.store(out, (0,), old)


@ct.kernel
def compare_and_swap(locks, out):
    lanes = ct.arange(16, dtype=ct.int32)
    old = ct.atomic_cas(locks, lanes, 0, 1)
    for order in ct.static_iter((Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL)):
        for scope in ct.static_iter((Scope.BLOCK, Scope.DEVICE, Scope.SYS)):
            desired = lanes.astype(old.dtype)
            old = ct.atomic_cas(locks, lanes, old, desired, check_bounds=False, memory_order=order, memory_scope=scope)
    ct.store(out, (0,), old)


@ct.kernel
def critical_section(lock, total, value):
    while ct.atomic_cas(lock, 0, 0, 1, memory_order=Order.ACQUIRE) == 1:
        pass
    ct.scatter(total, 0, ct.gather(total, 0) + value)
    ct.atomic_xchg(lock, 0, 0, memory_order=Order.RELEASE)


@ct.kernel
def raw_memory(values, out):
    memory = values.get_raw_memory()
    lanes = ct.arange(16, dtype=ct.int64)
    even = lanes % 2 == 0
    t = memory.load_offset(lanes, mask=even, padding_value=3, latency=2)
    t += memory.load_offset(lanes + 16, latency=None)
    t += memory.atomic_add_offset(lanes, t)
    t += memory.atomic_max_offset(lanes, t, mask=even)
    t += memory.atomic_cas_offset(lanes, t, 1, mask=even, memory_order=Order.RELAXED)
    memory.store_offset(lanes, t, mask=even, latency=9)
    memory.store_offset(lanes + 16, t)
    ct.store(out, (0,), t)


@ct.kernel
def reduce_into_view(values, totals):
    view = totals.tiled_view((16, 32))
    t = ct.load(values, (ct.bid(0), 0), (16, 32))
    # tileir: ignore[order-dependent-sum]: it is what is tested
    view.atomic_store_add((0, ct.bid(1)), t)


@ct.kernel
def reduce_into_view_modes(values, totals):
    view = totals.tiled_view((16, 32), traversal_steps=(8, 32))
    t = ct.load(values, (ct.bid(0), 0), (16, 32))
    view.atomic_store_add((0, 0), t)
    view.atomic_store_max((0, 1), t)
    view.atomic_store_min((0, 2), t)
    view.atomic_store_and((1, 0), t)
    view.atomic_store_or((1, 1), t)
    view.atomic_store_xor((1, 2), t)


@ct.kernel
def ordered_loads_and_stores(flags, values):
    ready = ct.load(flags, (0,), (1,), memory_order=Order.ACQUIRE, memory_scope=Scope.DEVICE)
    seen = ct.load(flags, (1,), (1,), memory_order=Order.RELAXED, memory_scope=Scope.SYS)
    ct.store(values, (0,), ready + seen, memory_order=Order.RELAXED, memory_scope=Scope.BLOCK)
    ct.store(flags, (2,), ready, memory_order=Order.RELEASE, memory_scope=Scope.SYS)


CASES = [
    *(
        KernelCase(f"atomic_arithmetic_{dtype.name}", arithmetic, (array(dtype), array(dtype)))
        for dtype in (ct.int32, ct.int64, ct.uint32, ct.uint64)
    ),
    KernelCase("atomic_bitwise_i32", bitwise, (array(ct.int32), array(ct.int32))),
    KernelCase("atomic_bitwise_u64", bitwise, (array(ct.uint64), array(ct.uint64))),
    *(
        KernelCase(f"atomic_accumulate_{dtype.name}", accumulate, (array(dtype), array(dtype)))
        for dtype in (ct.float16, ct.float32, ct.float64)
    ),
    KernelCase("atomic_accumulate_bfloat16", accumulate, (array(ct.bfloat16), array(ct.bfloat16)), SINCE_13_3),
    KernelCase("atomic_exchange_f32", exchange_float, (array(ct.float32), array(ct.float32))),
    KernelCase("atomic_exchange_f64", exchange_float, (array(ct.float64), array(ct.float64))),
    KernelCase("compare_and_swap_i32", compare_and_swap, (array(ct.int32), array(ct.int32))),
    KernelCase("compare_and_swap_i64", compare_and_swap, (array(ct.int64), array(ct.int64))),
    KernelCase("critical_section", critical_section, (array(ct.int32), array(ct.float32), scalar(ct.float32))),
    KernelCase("raw_memory", raw_memory, (array(ct.int32), array(ct.int32))),
    *(
        KernelCase(f"reduce_into_view_{dtype.name}", reduce_into_view, (array(dtype, 2), array(dtype, 2)), SINCE_13_3)
        for dtype in (ct.float16, ct.bfloat16, ct.float32, ct.float64)
    ),
    KernelCase("reduce_into_view_modes_i32", reduce_into_view_modes, (array(ct.int32, 2),) * 2, SINCE_13_3),
    KernelCase("reduce_into_view_modes_u64", reduce_into_view_modes, (array(ct.uint64, 2),) * 2, SINCE_13_3),
    KernelCase("ordered_loads_and_stores", ordered_loads_and_stores, (array(ct.int32), array(ct.int32))),
]
