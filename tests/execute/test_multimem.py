"""Multimem operations, over the arrays of several emulated devices."""

from __future__ import annotations

from typing import Any

import pytest

import tileir
from tileir.execute.recording.recording import record

numpy = pytest.importorskip("numpy", reason="pip install 'tileir[run]'")
ml_dtypes = pytest.importorskip("ml_dtypes", reason="pip install 'tileir[run]'")
MulticastArray = tileir.kernels.MulticastArray

DTYPES = {"i32": "i4", "i64": "i8", "f16": "f2", "bf16": ml_dtypes.bfloat16, "f32": "f4", "f64": "f8"}
INTEGERS: dict[str, Any] = {
    "add": numpy.add,
    "min": numpy.minimum,
    "max": numpy.maximum,
    "and": numpy.bitwise_and,
    "or": numpy.bitwise_or,
    "xor": numpy.bitwise_xor,
    "umin": lambda a, b: numpy.minimum(unsigned(a), unsigned(b)).view(a.dtype),
    "umax": lambda a, b: numpy.maximum(unsigned(a), unsigned(b)).view(a.dtype),
}
HALVES: dict[str, Any] = {"add": numpy.add, "min": numpy.fmin, "max": numpy.fmax}
LOADS = [
    *[(element, kind) for element in ("i32", "i64") for kind in INTEGERS],
    *[(element, kind) for element in ("f16", "bf16") for kind in HALVES],
    *[("f32", "add"), ("f64", "add")],
]
REDUCTIONS = [(element, kind) for element, kind in LOADS if kind == "add" or element in ("i32", "i64")]


def unsigned(values: Any) -> Any:
    return values.view(f"u{values.itemsize}")


def program(element: str, body: str) -> str:
    """A kernel of `rows` by 8 elements: %many views those of all devices, %one an ordinary array."""
    multicast = "#cuda_tile.ptr_attr<multicast>"
    text = """cuda_tile.module @m {
  entry @k(%many: tile<ptr<E, MULTI>>, %one: tile<ptr<E>>, %rows: tile<i32>) {
    %0 = make_tensor_view %many, shape = [%rows, 8], strides = [8, 1] : tile<ptr<E, MULTI>>, tile<i32> -> TENSORS
    %all = make_partition_view %0 : ALL
    %1 = make_tensor_view %one, shape = [%rows, 8], strides = [8, 1] : tile<ptr<E>>, tile<i32> -> TENSOR
    %view = make_partition_view %1 : VIEW
    %b, %y, %z = get_tile_block_id : tile<i32>
    %c = constant <i32: 0> : tile<i32>
    BODY
    return
  }
}"""
    for name, spelling in (
        ("BODY", body),
        ("ALL", "partition_view<tile=(4x8), TENSORS>"),
        ("VIEW", "partition_view<tile=(4x8), TENSOR>"),
        ("TENSORS", "tensor_view<?x8xE, strides=[8,1], MULTI>"),
        ("TENSOR", "tensor_view<?x8xE, strides=[8,1]>"),
        ("TILE", "tile<4x8xE>"),
        ("E,", f"{element},"),
        ("E>", f"{element}>"),
        ("MULTI", multicast),
    ):
        text = text.replace(name, spelling)
    return text


LOAD = """%x, %t = multimem_load_reduce_view_tko relaxed sys %all[%b, %c], KIND : ALL, tile<i32> -> TILE, token
    %u = store_view_tko weak %x, %view[%b, %c] : TILE, VIEW, tile<i32> -> token"""
READ = "%x, %s = load_view_tko weak %view[%b, %c] : VIEW, tile<i32> -> TILE, token\n"
REDUCE = READ + "    %t = multimem_reduce_view_tko relaxed sys %all[%b, %c], KIND, %x : TILE, ALL, tile<i32> -> token"
STORE = READ + "    %t = multimem_store_view_tko weak %x, %all[%b, %c] : TILE, ALL, tile<i32> -> token"


def compiled(element: str, body: str, backend: str = "interpreter") -> tileir.Kernel:
    return tileir.compile(tileir.parse(program(element, body), verify=True), backend=backend)


def arrays(element: str, count: int, rows: int = 10) -> list[Any]:
    random = numpy.random.default_rng(count)
    return [random.integers(-40, 40, (rows, 8)).astype(DTYPES[element]) for _ in range(count)]


@pytest.mark.parametrize(("element", "kind"), LOADS)
def test_a_load_combines_the_elements_of_all_devices(element: str, kind: str) -> None:
    *team, result = arrays(element, 4)
    before = [array.copy() for array in team]
    compiled(element, LOAD.replace("KIND", kind)).launch(3, (MulticastArray(team), result, 10))
    combine = (INTEGERS | HALVES if element in ("f16", "bf16") else INTEGERS)[kind]
    assert numpy.array_equal(result, combine(combine(before[0], before[1]), before[2]))
    assert all(map(numpy.array_equal, team, before))


@pytest.mark.parametrize(("element", "kind"), REDUCTIONS)
def test_a_reduction_changes_the_arrays_of_all_devices(element: str, kind: str) -> None:
    *team, values = arrays(element, 4)
    expected = [INTEGERS[kind](array, values) for array in team]
    compiled(element, REDUCE.replace("KIND", kind)).launch(3, (MulticastArray(team), values, 10))
    assert all(map(numpy.array_equal, team, expected))


@pytest.mark.parametrize("element", DTYPES)
def test_a_store_writes_the_arrays_of_all_devices(element: str) -> None:
    *team, values = arrays(element, 3)
    compiled(element, STORE).launch(3, (MulticastArray(team), values, 10), sanitize=True)
    assert all(numpy.array_equal(array, values) for array in team)


def test_halves_are_added_in_f32() -> None:
    team = [numpy.full((4, 8), value, numpy.float16) for value in (2048, 1, 1)]
    result = numpy.zeros((4, 8), numpy.float16)
    compiled("f16", LOAD.replace("KIND", "add")).launch(1, (MulticastArray(team), result, 4))
    assert (result == 2050).all()


def test_a_number_wins_over_a_nan() -> None:
    team = [numpy.full((4, 8), value, numpy.float16) for value in (numpy.nan, 3, 5)]
    result = numpy.zeros((4, 8), numpy.float16)
    compiled("f16", LOAD.replace("KIND", "min")).launch(1, (MulticastArray(team), result, 4))
    assert (result == 3).all()


# --- the sanitizer ---


def findings(kernel: tileir.Kernel, team: list[Any], rows: int, grid: int = 3) -> list[tuple[str, str]]:
    sanitizer = tileir.sanitizer.Sanitizer()
    other = numpy.zeros((rows, 8), team[0].dtype)
    kernel.launch(grid, (MulticastArray(team), other, rows), observer=sanitizer)
    return [(each.kind, each.title) for each in sanitizer.report.findings]


@pytest.mark.parametrize("body", [LOAD.replace("KIND", "add"), REDUCE.replace("KIND", "add"), STORE])
def test_the_bounds_of_each_device_are_checked(body: str) -> None:
    team = arrays("f32", 2)
    assert findings(compiled("f32", body), team, 10) == []
    ((kind, title),) = findings(compiled("f32", body), team, 12)
    assert kind == "out-of-bounds" and "outside of argument 0 on device 0 (array float32[10, 8])" in title


def test_a_race_of_tile_blocks_is_found() -> None:
    everywhere = STORE.replace("%all[%b", "%all[%c")
    team = arrays("f32", 2)
    assert findings(compiled("f32", everywhere), team, 10, 1) == []
    assert findings(compiled("f32", everywhere), team, 10) == [
        ("race", "two tile blocks write the same memory, and nothing orders them")
    ]
    atomic = REDUCE.replace("KIND", "add").replace("%all[%b", "%all[%c")
    assert findings(compiled("f32", atomic), team, 10) == []


def test_a_token_orders_the_accesses_of_all_devices() -> None:
    twice = (
        f"{STORE}\n    %v = multimem_store_view_tko weak %x, %all[%b, %c] token = %t : TILE, ALL, tile<i32> -> token"
    )
    assert findings(compiled("f32", twice), arrays("f32", 3), 10) == []
    unordered = twice.replace("token = %t ", "")
    assert [kind for kind, _ in findings(compiled("f32", unordered), arrays("f32", 3), 10)] == ["unordered"]


def test_what_is_not_written_is_found_on_each_device() -> None:
    team, (values,) = arrays("f32", 2, 12), arrays("f32", 1, 12)
    kernel = compiled("f32", STORE)
    kernel.launch(3, (MulticastArray(team), values, 12), sanitize="all")
    with pytest.raises(tileir.SanitizerError) as caught:
        kernel.launch(2, (MulticastArray(team), values, 12), sanitize="all")
    titles = sorted([each.title for each in caught.value.report.findings])
    assert titles == [
        f"32 of the 96 elements of argument 0 on device {device} (array float32[12, 8]) are never written"
        for device in (0, 1)
    ]


def test_memory_of_one_device_may_count_as_unwritten() -> None:
    team, (result,) = arrays("f32", 2), arrays("f32", 1)
    sanitizer = tileir.sanitizer.Sanitizer(uninitialized=[team[1]])
    kernel = compiled("f32", LOAD.replace("KIND", "add"))
    kernel.launch(3, (MulticastArray(team), result, 10), observer=sanitizer)
    (finding,) = sanitizer.report.findings
    assert finding.kind == "uninitialized" and "on device 1" in str(finding.details)


@pytest.mark.parametrize("schedule", ["reverse", "random:3", "interleaved"])
def test_schedules(schedule: str) -> None:
    team, (values,) = arrays("f32", 2), arrays("f32", 1)
    expected = [array + values for array in team]
    kernel = compiled("f32", REDUCE.replace("KIND", "add"))
    kernel.launch(3, (MulticastArray(team), values, 10), schedule=schedule, sanitize=True)
    assert all(map(numpy.array_equal, team, expected))


# --- addresses ---


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_ordinary_operations_do_not_reach_a_multicast_address(backend: str) -> None:
    body = """%p = ptr_to_ptr %many : tile<ptr<E, MULTI>> -> tile<ptr<E>>
    %x, %t = load_ptr_tko weak %p : tile<ptr<E>> -> tile<E>, token
    %u = store_ptr_tko weak %one, %x : tile<ptr<E>>, tile<E> -> token"""
    with pytest.raises(tileir.ExecutionError, match=r"accesses the multicast address 0x.*, which only multimem"):
        compiled("f32", body, backend).launch(1, (MulticastArray(arrays("f32", 2)), arrays("f32", 1)[0], 10))


def test_multimem_operations_need_a_multicast_address() -> None:
    body = STORE.replace("%all[", "%other[")
    body = f"""%p = ptr_to_ptr %one : tile<ptr<E>> -> tile<ptr<E, MULTI>>
    %2 = make_tensor_view %p, shape = [%rows, 8], strides = [8, 1] : tile<ptr<E, MULTI>>, tile<i32> -> TENSORS
    %other = make_partition_view %2 : ALL
    {body}"""
    with pytest.raises(tileir.ExecutionError, match="which is not an address of a MulticastArray of the launch"):
        compiled("f32", body).launch(1, (MulticastArray(arrays("f32", 2)), arrays("f32", 1)[0], 10))


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("load_view_tko weak %all[%b, %c] : ALL, tile<i32> -> TILE, token", "multicast ptr_attr is not allowed"),
        ("load_ptr_tko weak %many : tile<ptr<E, MULTI>> -> tile<E>, token", "multicast pointer is not allowed"),
        (
            "atomic_rmw_tko relaxed sys %many, addf, %f : tile<ptr<E, MULTI>>, tile<E> -> tile<E>, token",
            "multicast pointer is not supported for atomic_rmw",
        ),
    ],
)
def test_the_verifier_refuses_ordinary_accesses(operation: str, message: str) -> None:
    body = f"%f = constant <f32: 0.0> : tile<f32>\n %x, %t = {operation}"
    with pytest.raises(tileir.VerifyError, match=message):
        tileir.parse(program("f32", body), verify=True)


# --- arguments ---


@pytest.mark.parametrize(
    ("many", "one", "message"),
    [
        (lambda a, b: a, lambda a, b: b, r"is a multicast pointer, but .*ndarray was given: pass tileir\.kernels\."),
        (lambda a, b: MulticastArray([a]), lambda a, b: MulticastArray([b]), "is not a multicast pointer"),
        (lambda a, b: MulticastArray([a, a[2:]]), lambda a, b: b, r"on device 1 is .*\[8, 8\], but .*\[10, 8\]"),
        (lambda a, b: MulticastArray([a, a]), lambda a, b: b, "shares memory with that on device 0"),
        (lambda a, b: MulticastArray([a, b.astype("f8")]), lambda a, b: b, "is a pointer to f32, but an array float64"),
        (lambda a, b: MulticastArray([a, b.T]), lambda a, b: b, "is not contiguous"),
        (lambda a, b: MulticastArray([a, 4096]), lambda a, b: b, "on device 1 is an address: pass an array"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(many: Any, one: Any, message: str) -> None:
    a, b = arrays("f32", 2)
    with pytest.raises(tileir.LaunchError, match=message):
        compiled("f32", STORE).launch(1, (many(a, b), one(a, b), 10))


@pytest.mark.parametrize("given", [[], 3, "ab", numpy.zeros(4)])
def test_a_multicast_array_is_made_of_a_list_of_arrays(given: Any) -> None:
    with pytest.raises(TypeError, match="needs a list with the array of each device"):
        MulticastArray(given)


# --- backends and tools ---


def test_the_cpu_backend_waits_for_earlier_launches() -> None:
    team, (values,) = arrays("f32", 2), arrays("f32", 1)
    expected = team[0] + team[1]
    with tileir.kernels.overlap():
        compiled("f32", LOAD.replace("KIND", "add"), "auto").launch(3, (MulticastArray(team), values, 10))
    assert numpy.array_equal(values, expected)


def test_triton_refuses_by_name() -> None:
    with pytest.raises(
        tileir.TileIRError, match=r"multimem_store_view_tko' cannot be compiled by Triton .*; backend='cpu' has it"
    ):
        compiled("f32", STORE, "triton").dump("ttir", target="sm_90")


def test_a_recording_has_the_array_of_each_device() -> None:
    team, (values,) = arrays("f32", 2), arrays("f32", 1)
    kernel = compiled("f32", STORE)
    recording = record(kernel, 3, (MulticastArray(team), values, 10))
    names = sorted([array.name for array in recording.arrays])
    assert names == ["argument 0 on device 0", "argument 0 on device 1", "one"]
    assert all(numpy.array_equal(recording.final(number), values) for number in range(3))
