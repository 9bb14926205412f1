"""The work that `compare_commits.py` measures: everything that users wait for, in small portions of CPU time.

It uses what has been public for long, so that it runs with the sources of earlier commits too.  An entry makes its
action when it is first wanted; what an action needs is made ahead of the time that counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

Action = Callable[[], object]


class Fresh:
    """Work on something that it uses up: `make` makes one outside the time that counts."""

    def __init__(self, make: Callable[[], Any], work: Callable[[Any], object]) -> None:
        self.make: Callable[[], Any] = make
        self.work: Callable[[Any], object] = work


EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

followed: list[int] = []
"""Processes whose CPU time counts while they run."""


# --- the tools ---


def _text(kind: str, operations: int) -> str:
    from tool_programs import KINDS

    return KINDS[kind](operations)


def _parsing(kind: str, operations: int) -> Action:
    import tileir

    return partial(tileir.parse, _text(kind, operations))


def _broken(operations: int) -> Action:
    """A long text with a mistake near its end."""
    import tileir

    lines = _text("mixed", operations).splitlines()
    place = max(number for number, line in enumerate(lines) if " = addf " in line)
    lines[place] = lines[place].replace(" = addf ", " = adf ")
    text = "\n".join(lines)

    def parse() -> None:
        try:
            tileir.parse(text)
        except tileir.TileIRError:
            return
        raise AssertionError("a broken text was read")

    return parse


def _verifying(kind: str, operations: int) -> Action:
    import tileir

    return partial(tileir.verify, tileir.parse(_text(kind, operations)))


def _printing(kind: str, operations: int) -> Action:
    import tileir

    module = tileir.parse(_text(kind, operations))
    return lambda: str(module)


def _reading(kind: str, operations: int) -> Action:
    import tileir
    from tileir.bytecode.layouts import from_bytes, to_bytes

    return partial(from_bytes, to_bytes(tileir.parse(_text(kind, operations)), (13, 4)))


def _writing(kind: str, operations: int) -> Action:
    import tileir
    from tileir.bytecode.layouts import to_bytes

    return partial(to_bytes, tileir.parse(_text(kind, operations)), (13, 4))


def _optimizing(operations: int) -> Fresh:
    import tileir
    from programs import cuda_tile_program

    text = cuda_tile_program(operations, live=True)[0]
    passes = ["canonicalize", "cse", "dce"]
    return Fresh(partial(tileir.parse, text), lambda module: tileir.run_passes(module, passes, verify_each=False))


def _cloning(operations: int) -> Action:
    import tileir
    from tileir.ir.traversal import clone

    return partial(clone, tileir.parse(_text("mixed", operations)))


def _linting() -> Action:
    import tileir

    return partial(tileir.lint, tileir.parse(_text("kernels", 300)))


def _differing() -> Action:
    import tileir
    from diff_speed import edited

    text = _text("mixed", 1500)
    return partial(tileir.diff, tileir.parse(text), tileir.parse(edited(text)))


def _reducing() -> Action:
    import tileir

    module = tileir.smith(3, size=120).module
    name = next(each.name for each in module.walk() if each.operands and each.results)
    return lambda: tileir.reduce(module, lambda candidate: any(each.name == name for each in candidate.walk()))


def _editing(operations: int) -> Action:
    """A name broken and mended in the language server."""
    from language_server import Client, many_functions

    text = many_functions(operations)
    lines = text.split("\n")
    places = [number for number, line in enumerate(lines) if " = addf " in line]
    line = places[len(places) // 2]
    start = lines[line].index("addf")
    client = Client()
    followed.append(client.process.pid)
    client.open(text)

    def edit() -> None:
        client.edit(line, start, start + 3, "ad")
        client.edit(line, start, start + 2, "add")

    return edit


def _starting(*arguments: str) -> Action:
    command = [sys.executable, *arguments]
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _disassembling() -> Action:
    import tileir
    from tileir.bytecode.layouts import to_bytes

    file = tempfile.NamedTemporaryFile(suffix=".tileirbc", delete=False)  # noqa: SIM115 - as long as the process
    file.write(to_bytes(tileir.load(EXAMPLES / "vector_add.mlir"), (13, 4)))
    file.close()
    return _starting("-m", "tileir", "dis", file.name)


# --- the interpreter, and who watches it ---


def _example(name: str) -> Any:
    sys.path.insert(0, str(EXAMPLES))
    import run_all

    return getattr(run_all, name)()


def _launching(name: str, backend: str, **options: Any) -> Action:
    """An example on one thread."""
    import tileir

    example = _example(name)
    kernel = tileir.compile(tileir.load(EXAMPLES / f"{name}.mlir"), backend=backend)
    given = (*example.inputs, example.output, *example.scalars)
    if backend == "cpu":
        options["threads"] = 1
    return partial(kernel.launch, example.grid, given, **options)


def _addition_program(count: int) -> str:
    """A chain of additions on a tile that comes from memory."""
    view = "partition_view<tile=(1024), tensor_view<1024xf32, strides=[1]>>"
    chain = "\n".join([f"%r{i + 1} = addf %r{i}, %r0 : tile<1024xf32>" for i in range(count)])
    return f"""cuda_tile.module @m {{ entry @add(%a: tile<ptr<f32>>) {{
      %zero = constant <i32: 0> : tile<i32>
      %t = make_tensor_view %a, shape = [1024], strides = [1] : tensor_view<1024xf32, strides=[1]>
      %v = make_partition_view %t : {view}
      %r0, %k0 = load_view_tko weak %v[%zero] : {view}, tile<i32> -> tile<1024xf32>, token
      {chain}
      %s = store_view_tko weak %r{count}, %v[%zero] : tile<1024xf32>, {view}, tile<i32> -> token
      return }} }}"""


def _adding() -> Action:
    import numpy

    import tileir

    kernel = tileir.compile(tileir.parse(_addition_program(300)), backend="interpreter")
    return partial(kernel.launch, 1, (numpy.zeros(1024, numpy.float32),))


def _multiplying(backend: str) -> Action:
    import numpy

    import tileir
    from interpreter_speed import matmul_program

    kernel = tileir.compile(tileir.parse(matmul_program(512, 64)), backend=backend)
    arrays = [numpy.ones((512, 512), numpy.float32) for _ in range(3)]
    options: dict[str, Any] = {"threads": 1} if backend == "cpu" else {}
    return partial(kernel.launch, (8, 8), arrays, **options)


def _debugging() -> Action:
    import tileir
    from tileir.serve.debugger.session import Debugger

    example = _example("softmax")
    kernel = tileir.compile(tileir.load(EXAMPLES / "softmax.mlir"), backend="interpreter")
    given = (*example.inputs, example.output, *example.scalars)

    def debug() -> None:
        assert Debugger(kernel, example.grid, given).start(stop_on_entry=False).reason == "end"

    return debug


def _recording() -> Action:
    import tileir

    example = _example("softmax")
    kernel = tileir.compile(tileir.load(EXAMPLES / "softmax.mlir"), backend="interpreter")
    return partial(tileir.record, kernel, example.grid, (*example.inputs, example.output, *example.scalars))


# --- the CPU engine ---


def _compiling(text: str, arguments: Callable[[], tuple[Any, ...]]) -> Action:
    """Compile a kernel anew, with no cache, and launch one tile block."""
    import tileir

    os.environ["TILEIR_CACHE"] = "0"
    module = tileir.parse(text)
    given = arguments()
    return lambda: tileir.compile(module, backend="cpu").launch(1, given, threads=1)


def _zeros(*shapes: Any) -> tuple[Any, ...]:
    import numpy

    return tuple([shape if isinstance(shape, int) else numpy.zeros(shape, numpy.float32) for shape in shapes])


def _compiling_example(name: str) -> Action:
    example = _example(name)
    text = (EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8")
    return _compiling(text, lambda: (*example.inputs, example.output, *example.scalars))


def _compiling_matmul() -> Action:
    import cpu_programs

    square = (64, 64)
    return _compiling(cpu_programs.matmul((64, 64, 64)), lambda: _zeros(square, square, square, 64, 64, 64, 64, 64))


def _compiling_chain() -> Action:
    import cpu_programs

    return _compiling(cpu_programs.long_chain(300), lambda: _zeros((4096,), (4096,), (4096,), 4096))


def _small_launches() -> Action:
    import cpu_programs
    import tileir

    kernel = tileir.compile(tileir.parse(cpu_programs.vector_add(1024)), backend="cpu")
    given = _zeros((1024,), (1024,), (1024,), 1024)

    def launches() -> None:
        for _ in range(200):
            kernel.launch(1, given)

    return launches


def _vectors(make: Callable[[int], str]) -> Action:
    import numpy

    import tileir

    count = 1 << 18
    kernel = tileir.compile(tileir.parse(make(4096)), backend="cpu")
    arrays = [numpy.ones(count, numpy.float32) for _ in range(3)]
    return partial(kernel.launch, count // 4096, (*arrays, count), threads=1)


def _rows(make: Callable[[int], str]) -> Action:
    import numpy

    import tileir

    kernel = tileir.compile(tileir.parse(make(1024)), backend="cpu")
    arrays = [numpy.ones((1024, 1024), numpy.float32) for _ in range(2)]
    return partial(kernel.launch, 256, arrays, threads=1)


def _function(name: str) -> Action:
    import numpy

    import cpu_math
    import tileir

    kernel = tileir.compile(tileir.parse(cpu_math.program(name)), backend="cpu")
    arrays = [numpy.linspace(0.001, 3, cpu_math.COUNT, dtype=numpy.float32) for _ in range(3)]
    return partial(kernel.launch, cpu_math.COUNT // cpu_math.TILE, arrays, threads=1)


def _program(name: str) -> Callable[[int], str]:
    def make(tile: int) -> str:
        import cpu_programs

        return str(getattr(cpu_programs, name)(tile))

    return make


def _masked(tile: int) -> str:
    import cpu_pointer_programs

    return cpu_pointer_programs.vector_add(tile, True)


WORK: dict[str, Callable[[], Action | Fresh]] = {
    **{f"parse: {kind}": partial(_parsing, kind, 2000) for kind in ("additions", "kernels", "mixed", "random")},
    "parse: a short text": partial(_parsing, "mixed", 400),
    "parse: a broken text": partial(_broken, 2000),
    **{f"verify: {kind}": partial(_verifying, kind, 4000) for kind in ("additions", "kernels", "mixed")},
    **{f"print: {kind}": partial(_printing, kind, 4000) for kind in ("additions", "kernels", "mixed")},
    **{f"read bytecode: {kind}": partial(_reading, kind, 4000) for kind in ("additions", "kernels", "mixed")},
    **{f"write bytecode: {kind}": partial(_writing, kind, 4000) for kind in ("kernels", "mixed")},
    "canonicalize, cse, dce": partial(_optimizing, 2000),
    "clone": partial(_cloning, 2000),
    "lint": _linting,
    "diff": _differing,
    "reduce": _reducing,
    "language server: edits, 1,000": partial(_editing, 1000),
    "language server: edits, 20,000": partial(_editing, 20000),
    "start: import tileir": partial(_starting, "-c", "import tileir"),
    "start: tileir dis": _disassembling,
    "start: tileir check": partial(_starting, "-m", "tileir", "check", str(EXAMPLES / "vector_add.mlir")),
    "interpreter: additions": _adding,
    "interpreter: matmul 512^3": partial(_multiplying, "interpreter"),
    **{f"interpreter: {name}": partial(_launching, name, "interpreter") for name in ("softmax", "attention", "matmul")},
    "debugger: softmax": _debugging,
    "record: softmax": _recording,
    "sanitizer: softmax": partial(_launching, "softmax", "interpreter", sanitize=True),
    "sanitizer: histogram": partial(_launching, "histogram", "interpreter", sanitize=True),
    "sanitizer, cpu: softmax": partial(_launching, "softmax", "cpu", sanitize=True),
    "cpu: 200 small launches": _small_launches,
    "cpu compile: matmul": _compiling_matmul,
    "cpu compile: 300 operations": _compiling_chain,
    **{
        f"cpu compile: {name}": partial(_compiling_example, name)
        for name in ("vector_add", "softmax", "layer_norm", "attention", "histogram")
    },
    "cpu: vector add 256K": partial(_vectors, _program("vector_add")),
    "cpu: seven elementwise 256K": partial(_vectors, _program("elementwise_chain")),
    "cpu: softmax 256 x 1,024": partial(_rows, _program("softmax")),
    "cpu: layer norm 256 x 1,024": partial(_rows, _program("layer_norm")),
    "cpu: matmul 512^3": partial(_multiplying, "cpu"),
    "cpu: attention": partial(_launching, "attention", "cpu"),
    "cpu: histogram": partial(_launching, "histogram", "cpu"),
    "cpu: pointers, vector add": partial(_vectors, _masked),
    **{f"cpu: {name}": partial(_function, name) for name in ("exp", "log", "sin", "tanh", "pow")},
}
