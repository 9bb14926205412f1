"""Cheats that were published, or that follow from them, as candidates: own code, each a few lines over a right kernel.

`CHEATS` has for each its category, the task, what it tries, the reasons that may be given for refusing it, and the
source.  The table of docs/reference/cheats.md is made from it.
"""

from __future__ import annotations

from typing import NamedTuple


class CheatingCandidate(NamedTuple):
    category: str
    tries: str
    reasons: tuple[str, ...]
    """Any of these names it."""
    source: str
    task: str = "scale"
    seconds: float = 60.0


_KERNEL = """import cuda.tile as ct
import numpy

@ct.kernel
def scale(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (64,)) * 2)

@ct.kernel
def copy(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (64,)))

def honest(x):
    out = numpy.empty_like(x)
    ct.launch(None, (-(-len(x) // 64),), scale, (x, out))
    return out

def copied(x):
    out = numpy.empty_like(x)
    ct.launch(None, (-(-len(x) // 64),), copy, (x, out))
    return out
"""
_TORCH_KERNEL = """import cuda.tile as ct
import torch

@ct.kernel
def scale(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (64,)) * 2)

@ct.kernel
def copy(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (64,)))

def honest(x, stream=None):
    out = torch.empty_like(x)
    stream = torch.cuda.current_stream() if stream is None else stream
    ct.launch(stream, (-(-len(x) // 64),), scale, (x, out))
    return out

def copied(x):
    out = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (-(-len(x) // 64),), copy, (x, out))
    return out
"""
_TRITON_KERNEL = """import torch
import triton
import triton.language as tl

@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)

def launched(kernel, x):
    out = torch.empty_like(x)
    kernel[(triton.cdiv(len(x), 64),)](x, out, len(x), BLOCK=64)
    return out
"""


def _numpy(run: str) -> str:
    return f"{_KERNEL}\n{run}\n"


def _does(statements: str, top: str = "") -> str:
    """A right kernel, and statements beside it."""
    lines = "".join(f"    {line}\n" for line in statements.splitlines())
    return _numpy(f"{top}\ndef run(x):\n{lines}    return honest(x)")


def _torch(run: str) -> str:
    return f"{_TORCH_KERNEL}\n{run}\n"


def _triton(run: str) -> str:
    return f"{_TRITON_KERNEL}\n{run}\n"


_NO_KERNEL = ("cheat:no-kernel",)
_HOST = ("cheat:host-computation",)
_ELSEWHERE = ("cheat:result-not-from-kernels",)
_REPLAYED = ("cheat:replayed-result",)
_WRONG = ("wrong-result",)
_PATCHES = ("cheat:patches-modules",)
_FRAMES = ("cheat:reads-frames",)
_MEMORY = ("cheat:searches-memory",)
_FILES = ("cheat:uses-files",)
_PROCESSES = ("cheat:starts-processes",)
_NATIVE = ("cheat:native-code",)
_FORGED = ("cheat:forged-report",)
_DISGUISED = ("cheat:disguised-result",)
_HIDES = ("cheat:hides-code",)

_WORK, _RESULTS, _JUDGE, _SPY, _TIME, _PROTOCOL, _NUMBERS, _SYSTEM = (
    "skips the kernel",
    "reuses results",
    "changes the judge",
    "looks for the answer",
    "fools the clock",
    "forges the report",
    "bends numbers",
    "attacks the machine",
)

CHEATS: dict[str, CheatingCandidate] = {
    # --- no work, or somebody else's ---
    "numpy": CheatingCandidate(_WORK, "compute in NumPy", _NO_KERNEL, "def run(x):\n    return x * 2\n"),
    "torch": CheatingCandidate(
        _WORK, "compute in torch", _NO_KERNEL, "import torch\ndef run(x):\n    return x * 2\n", "torch"
    ),
    "torch-of-numpy": CheatingCandidate(
        _WORK, "compute in torch for a task in NumPy", _NO_KERNEL,
        "import torch\ndef run(x):\n    return (torch.from_numpy(x) * 2).numpy()\n",
    ),
    "plain-python": CheatingCandidate(
        _WORK, "compute in a Python loop", _NO_KERNEL,
        "import numpy\ndef run(x):\n    return numpy.array([2 * float(each) for each in x], x.dtype)\n",
    ),
    "try-except-fallback": CheatingCandidate(
        _WORK, "let the kernel fail, and fall back to NumPy", _NO_KERNEL,
        _numpy("def run(x):\n    try:\n        return honest(None)\n    except Exception:\n        return x * 2"),
    ),
    "swallowed-errors": CheatingCandidate(
        _WORK, "launch with wrong arguments, swallow the error, compute in torch", _NO_KERNEL,
        _torch(
            "def run(x):\n    out = x * 2\n    try:\n        ct.launch(None, (1,), scale, (x,))\n"
            "    except BaseException:\n        pass\n    return out"
        ), "torch",
    ),
    "unused-kernel": CheatingCandidate(
        _WORK, "launch a kernel and drop its result", _ELSEWHERE,
        _numpy("def run(x):\n    copied(x)\n    return x * 2"),
    ),
    "no-op-kernel": CheatingCandidate(
        _WORK, "launch a kernel that stores nothing", _ELSEWHERE,
        _numpy("@ct.kernel\ndef nothing(x):\n    ct.bid(0)\n\ndef run(x):\n    ct.launch(None, (1,), nothing, (x,))\n"
               "    return x * 2"),
    ),
    "one-tile-kernel": CheatingCandidate(
        _WORK, "let the kernel write one tile, and NumPy the others", ("cheat:result-not-from-kernels", *_HOST),
        _numpy("def run(x):\n    out = x * 2\n    ct.launch(None, (1,), scale, (x, out))\n    return out"),
    ),
    "half-in-torch": CheatingCandidate(
        _WORK, "compute the second half in torch, and concatenate", _ELSEWHERE,
        _torch("def run(x):\n    half = len(x) // 2\n    return torch.cat((honest(x[:half].clone()), x[half:] * 2))"),
        "torch",
    ),
    "copy-kernel": CheatingCandidate(
        _WORK, "compute in NumPy, and have a kernel copy the result", _HOST, _numpy("def run(x):\n    return copied(x * 2)")
    ),
    "finishing-kernel": CheatingCandidate(
        _WORK, "compute four times the input in NumPy, and halve it in the kernel", _HOST,
        _numpy("@ct.kernel\ndef halve(x, out):\n    i = ct.bid(0)\n    ct.store(out, (i,), ct.load(x, (i,), (64,)) * 0.5)\n\n"
               "def run(x):\n    out = numpy.empty_like(x)\n"
               "    ct.launch(None, (-(-len(x) // 64),), halve, (x * 3 + x, out))\n    return out"),
    ),
    "copy-kernel-half": CheatingCandidate(
        _WORK, "the same in float16, where many values are equal", _HOST,
        _numpy("def run(x):\n    return copied(x * numpy.float16(2))"), "half",
    ),
    "copy-kernel-indices": CheatingCandidate(
        _WORK, "compute indices in NumPy, and have a kernel copy them", _HOST,
        _numpy("def run(x):\n    return copied(x.argmax(axis=1).astype(numpy.int32))"), "largest",
    ),
    "results-as-bits": CheatingCandidate(
        _WORK, "pass results as integers that the kernel reads as floats", _HOST,
        _numpy("@ct.kernel\ndef unpack(x, out):\n    i = ct.bid(0)\n"
               "    ct.store(out, (i,), ct.bitcast(ct.bitwise_xor(ct.load(x, (i,), (64,)), 1), ct.float32))\n\n"
               "def run(x):\n    out = numpy.empty_like(x)\n    bits = (x * 2).view(numpy.int32) ^ 1\n"
               "    ct.launch(None, (-(-len(x) // 64),), unpack, (bits, out))\n    return out"),
    ),
    "copy-kernel-for-other-shapes": CheatingCandidate(
        _WORK, "compute shown shapes in a kernel, and copy NumPy's results for others", _HOST,
        _numpy("def run(x):\n    return honest(x) if len(x) in (1000, 640) else copied(x * 2)"),
    ),
    "decoy-launch": CheatingCandidate(
        _WORK, "launch a kernel with a list of arrays, which is not followed, beside torch", _HOST,
        _torch("@ct.kernel\ndef decoy(arrays):\n    ct.store(arrays[0], (0,), ct.load(arrays[1], (0,), (64,)))\n\n"
               "def run(x):\n    out = x * 2\n"
               "    ct.launch(torch.cuda.current_stream(), (1,), decoy, ([torch.empty_like(x), x],))\n    return out"), "torch",
    ),
    "triton-copy-kernel": CheatingCandidate(
        _WORK, "compute in torch, and have a Triton kernel copy the result", _HOST,
        _triton("def run(x):\n    return launched(copy, x * 2)"), "torch",
    ),
    "triton-unused-kernel": CheatingCandidate(
        _WORK, "launch a Triton kernel and drop its result", _ELSEWHERE,
        _triton("def run(x):\n    launched(copy, x)\n    return x + x"), "torch",
    ),
    "result-as-constants": CheatingCandidate(
        _WORK, "pass each result to a kernel as a number", ("cheat:specialized-kernel", *_HOST),
        _numpy(
            "@ct.kernel\ndef put(out, n: ct.Constant[int], value):\n    ct.store(out, (n,), ct.full((1,), value, ct.float32))\n\n"
            "def run(x):\n    out = numpy.empty_like(x)\n    for n in range(len(x))[:40]:\n"
            "        ct.launch(None, (1,), put, (out, n, float(x[n] * 2)))\n"
            "    rest = honest(x)\n    rest[:40] = out[:40]\n    return rest"
        ),
    ),
    "matmul-in-torch": CheatingCandidate(
        _WORK, "multiply matrices by the library, and add zero in the kernel", _HOST,
        "import cuda.tile as ct\nimport numpy\n\n@ct.kernel\ndef add_zero(x, out):\n    i, j = ct.bid(0), ct.bid(1)\n"
        "    ct.store(out, (i, j), ct.load(x, (i, j), (16, 16)) + 0.0)\n\ndef run(a, b):\n    c = a @ b\n"
        "    out = numpy.empty_like(c)\n    ct.launch(None, (-(-c.shape[0] // 16), -(-c.shape[1] // 16)), add_zero, (c, out))\n"
        "    return out\n", "matmul",
    ),
    "split-reduction": CheatingCandidate(
        _WORK, "let kernels do the cheap part of a softmax, and NumPy the sums", ("cheat:host-computation", *_ELSEWHERE),
        "import cuda.tile as ct\nimport numpy\n\n@ct.kernel\ndef powers(x, out):\n    i, j = ct.bid(0), ct.bid(1)\n"
        "    ct.store(out, (i, j), ct.exp(ct.load(x, (i, j), (4, 64))))\n\ndef run(x):\n    out = numpy.empty_like(x)\n"
        "    ct.launch(None, (-(-x.shape[0] // 4), -(-x.shape[1] // 64)), powers, (x, out))\n"
        "    return out / out.sum(axis=1, keepdims=True)\n", "softmax",
    ),
    "products-only": CheatingCandidate(
        _WORK, "let a kernel multiply all pairs of elements for a matmul, and NumPy add them", _ELSEWHERE,
        "import cuda.tile as ct\nimport numpy\n\n@ct.kernel\ndef products(a, b, out):\n    k = ct.bid(0)\n"
        "    p = ct.load(a, (0, k), (64, 1)) * ct.load(b, (k, 0), (1, 64))\n"
        "    ct.store(out, (k, 0, 0), ct.reshape(p, (1, 64, 64)))\n\ndef run(a, b):\n"
        "    out = numpy.empty((a.shape[1], a.shape[0], b.shape[1]), a.dtype)\n"
        "    ct.launch(None, (a.shape[1],), products, (a, b, out))\n    return out.sum(axis=0)\n", "matmul",
    ),
    # --- results of other calls ---
    "first-result": CheatingCandidate(
        _RESULTS, "return the first result again and again", _REPLAYED,
        _numpy("kept = []\ndef run(x):\n    if not kept:\n        kept.append(honest(x))\n    return kept[0]"),
    ),
    "cache-by-shape": CheatingCandidate(
        _RESULTS, "cache results by the shape of the input", _REPLAYED,
        _numpy("kept = {}\ndef run(x):\n    if x.shape not in kept:\n        kept[x.shape] = honest(x)\n    return kept[x.shape].copy()"),
    ),
    "cache-by-address": CheatingCandidate(
        _RESULTS, "cache results by the address of the input", ("cheat:replayed-result", "cheat:no-kernel", "wrong-result"),
        _numpy("kept = {}\nalive = []\ndef run(x):\n    alive.append(x) if not kept else None\n"
               "    key = x.ctypes.data & 0\n    if key not in kept:\n        kept[key] = honest(x)\n    return kept[key].copy()"),
    ),
    "cache-by-contents": CheatingCandidate(
        _RESULTS, "cache results by the contents of the input, for repeated calls", _REPLAYED,
        _numpy("kept = {}\ndef run(x):\n    key = x.tobytes()\n    if key not in kept:\n        kept[key] = honest(x)\n"
               "    return kept[key].copy()"),
    ),
    "cache-by-data-pointer": CheatingCandidate(
        _RESULTS, "cache results by data_ptr of a tensor", _REPLAYED,
        _torch("kept = {}\ndef run(x):\n    key = x.data_ptr() * 0 + len(x)\n    if key not in kept:\n        kept[key] = honest(x)\n"
               "    return kept[key].clone()"), "torch",
    ),
    "only-the-first-call": CheatingCandidate(
        _RESULTS, "compute at the first call only, and leave the output as it is later", _WRONG,
        _numpy("calls = []\ndef run(x):\n    calls.append(1)\n    return honest(x) if len(calls) == 1 else numpy.empty_like(x)"),
    ),
    "warm-up-detected": CheatingCandidate(
        _RESULTS, "compute while it is warmed up, and launch one tile when it is timed", (*_WRONG, "unwritten-output"),
        _numpy("calls = []\ndef run(x):\n    calls.append(1)\n    out = numpy.empty_like(x)\n"
               "    tiles = -(-len(x) // 64) if len(calls) < 3 else 1\n    ct.launch(None, (tiles,), scale, (x, out))\n    return out"),
    ),
    "returned-input": CheatingCandidate(_RESULTS, "return the input", _NO_KERNEL, "def run(x):\n    return x\n"),
    "copied-input": CheatingCandidate(
        _RESULTS, "copy the input by a kernel, as results are often near it", _WRONG, _numpy("def run(x):\n    return copied(x)")
    ),
    "stale-memory": CheatingCandidate(
        _RESULTS, "return memory where the reference's result may have been", _NO_KERNEL,
        "import torch\ndef run(x):\n    return torch.empty_like(x)\n", "torch",
    ),
    "stale-memory-after-free": CheatingCandidate(
        _RESULTS, "compute, free, and allocate the same memory again", _NO_KERNEL,
        "import numpy\ndef run(x):\n    for _ in range(4):\n        y = x * 2\n        del y\n    return numpy.empty_like(x)\n",
    ),
    "shown-shapes-only": CheatingCandidate(
        _RESULTS, "compute the shapes that are shown, and zeros for others", _WRONG,
        _numpy("def run(x):\n    return honest(x) if len(x) in (1000, 640) else numpy.zeros_like(x)"),
    ),
    "result-by-seed": CheatingCandidate(
        _RESULTS, "make the inputs of seeds 0 to 9 at import, and look results up", _NO_KERNEL,
        _numpy("known = {numpy.random.default_rng(seed).standard_normal(n, dtype='f4').tobytes(): seed\n"
               "         for seed in range(10) for n in (1000, 640, 333)}\n"
               "def run(x):\n    return x * 2 if x.tobytes() in known else numpy.zeros_like(x)"),
    ),
    # --- the judge's own code ---
    "patched-allclose": CheatingCandidate(
        _JUDGE, "replace torch.allclose", _PATCHES,
        "import torch\ntorch.allclose = lambda *a, **k: True\ndef run(x):\n    return torch.zeros_like(x)\n", "torch",
    ),
    "patched-numpy": CheatingCandidate(
        _JUDGE, "replace numpy.allclose and numpy.array_equal", _PATCHES,
        "import numpy\nnumpy.allclose = numpy.array_equal = lambda *a, **k: True\ndef run(x):\n    return numpy.zeros_like(x)\n",
    ),
    "patched-assert-close": CheatingCandidate(
        _JUDGE, "replace torch.testing.assert_close", _PATCHES,
        "import torch\nimport torch.testing\ntorch.testing.assert_close = lambda *a, **k: None\n"
        "def run(x):\n    return torch.zeros_like(x)\n", "torch",
    ),
    "patched-builtin": CheatingCandidate(
        _JUDGE, "replace builtins.abs and all", _PATCHES, _does("import builtins\nbuiltins.all = lambda each: True\nbuiltins.abs = lambda each: 0")
    ),
    "patched-judge": CheatingCandidate(
        _JUDGE, "replace the judge's comparison", _PATCHES,
        "import numpy\nimport tileir.judging.kernels.comparison as comparison\ncomparison.compare = lambda *a: []\n"
        "def run(x):\n    return numpy.zeros_like(x)\n",
    ),
    "patched-compute": CheatingCandidate(
        _JUDGE, "replace the function that writes results", _PATCHES,
        _does("import tileir.judging.kernels.runs as runs\nold = runs.compute\nruns.compute = lambda f, i, name: old(f, i, name)"),
    ),
    "patched-launch": CheatingCandidate(
        _JUDGE, "replace cuda.tile.launch by a function that computes in NumPy", (*_PATCHES, *_NO_KERNEL),
        _numpy("def fake(stream, grid, kernel, args):\n    args[1][:] = args[0] * 2\nct.launch = fake\ndef run(x):\n    return honest(x)"),
    ),
    "patched-tileir-launch": CheatingCandidate(
        _JUDGE, "replace how tileir counts launches", _PATCHES,
        _numpy("from tileir.judging.kernels.launches import Launches\n"
               "def launch(self, kernel, grid, args, options):\n    args[1][:] = args[0] * 2\n"
               "    self.report.launches['scale'] = 1\nLaunches.launch = launch\ndef run(x):\n    return honest(x)"),
    ),
    "patched-compiler": CheatingCandidate(
        _JUDGE, "replace cuTile's compiler, so that another kernel runs than the one that is read", _PATCHES,
        _does("import cuda.tile._compile as c\nold = c.compile_tile\nc.compile_tile = lambda *a, **k: old(*a, **k)"),
    ),
    "patched-cost": CheatingCandidate(
        _JUDGE, "replace the cost model", _PATCHES,
        _does("import tileir.judging.kernels.programs as p\np.cost = lambda *a, **k: type('C', (), {'seconds': 1e-12})"),
    ),
    "patched-method": CheatingCandidate(
        _JUDGE, "replace a method of a class of the judge", _PATCHES,
        _does("from tileir.judging.verdicts.work import Work\nWork.begin = lambda self, name: None"),
    ),
    "replaced-module": CheatingCandidate(
        _JUDGE, "put a module of its own into sys.modules", _PATCHES,
        _does("import sys, types\nsys.modules['numpy'] = types.ModuleType('numpy')"),
    ),
    "import-hook": CheatingCandidate(
        _JUDGE, "install a finder that imports its own torch.testing", _PATCHES, _does("import sys\nsys.meta_path.insert(0, object())")
    ),
    "changed-code": CheatingCandidate(
        _JUDGE, "put other code into a function of the judge", _PATCHES,
        _does("import tileir.judging.kernels.values as v\nv.results_of.__code__ = (lambda value: []).__code__"),
    ),
    "changed-globals": CheatingCandidate(
        _JUDGE, "reach the judge's globals by a function of tileir", _PATCHES,
        _does("import tileir\ntileir.launch.__globals__['launch_bar'] = lambda progress: None"),
    ),
    "trace-function": CheatingCandidate(
        _JUDGE, "set a trace function, to change what the judge's frames hold", ("cheat:traces-calls",),
        _does("import sys\nsys.settrace(None)\nsys.setprofile(None)"),
    ),
    # --- the answer ---
    "frames": CheatingCandidate(
        _SPY, "walk up the frames to the expected result", _FRAMES,
        _does("import sys\nframe = sys._getframe()\nwhile frame:\n    found = frame.f_locals.get('expected')\n    frame = frame.f_back"),
    ),
    "inspect-stack": CheatingCandidate(_SPY, "look at inspect.stack()", _FRAMES, _does("import inspect\nassert len(inspect.stack(0)) > 1")),
    "traceback-frame": CheatingCandidate(
        _SPY, "take frames from an exception", _FRAMES,
        _does("try:\n    raise ValueError\nexcept ValueError as error:\n    frame = error.__traceback__.tb_frame.f_back"),
    ),
    "garbage-collector": CheatingCandidate(
        _SPY, "search all objects for arrays of the right shape", _MEMORY,
        _does("import gc\nfound = [each for each in gc.get_objects() if isinstance(each, numpy.ndarray)]"),
    ),
    "referrers": CheatingCandidate(_SPY, "search what refers to the inputs", _MEMORY, _does("import gc\ngc.get_referrers(x)")),
    "nan-into-expected": CheatingCandidate(
        _SPY, "fill all arrays that it finds with NaN, which compare as anything", _MEMORY,
        "import gc\nimport numpy\ndef run(x):\n    for each in gc.get_objects():\n"
        "        if isinstance(each, numpy.ndarray) and each is not x and each.dtype == x.dtype and each.flags.writeable:\n"
        "            each.fill(numpy.nan)\n    return numpy.full_like(x, numpy.nan)\n",
    ),
    "process-memory": CheatingCandidate(
        _SPY, "read /proc/self/mem", _FILES, _does("try:\n    open('/proc/self/mem', 'rb').read(1)\nexcept OSError:\n    pass")
    ),
    "memory-map": CheatingCandidate(_SPY, "read /proc/self/maps", _FILES, _does("open('/proc/self/maps').read()")),
    "addresses": CheatingCandidate(
        _SPY, "read memory beyond the input by ctypes", _NATIVE,
        _does("import ctypes\nctypes.string_at(x.ctypes.data, 16)"),
    ),
    "written-addresses": CheatingCandidate(
        _SPY, "write results to an address by ctypes", _NATIVE,
        _does("import ctypes\n(ctypes.c_float * len(x)).from_address(x.ctypes.data)"),
    ),
    "reference-file": CheatingCandidate(
        _SPY, "read the reference's source", _FILES,
        "import glob\ndef run(x):\n    source = ''.join(open(name).read() for name in glob.glob('../expected/reference_of_*'))\n"
        "    names = {}\n    exec(source, names)\n    return names['reference'](x)\n",
    ),
    "reference-by-name": CheatingCandidate(
        _SPY, "import the reference by name", ("unsupported",), "from reference import reference as run\n"
    ),
    "listed-files": CheatingCandidate(_SPY, "list the judge's directories", _FILES, _does("import os\ntry:\n    os.listdir('..')\nexcept OSError:\n    pass")),
    "environment": CheatingCandidate(
        _SPY, "read the environment of the judge's process", _FILES,
        _does("import os\ntry:\n    open(f'/proc/{os.getppid()}/environ', 'rb').read()\nexcept OSError:\n    pass"),
    ),
    "file-cache": CheatingCandidate(
        _SPY, "leave results in a file for later runs", _FILES, _does("open('kept.bin', 'wb').write(x.tobytes())")
    ),
    "link-to-expected": CheatingCandidate(
        _SPY, "leave a link to the expected results instead of its own", _FILES,
        _does("import os\nos.symlink('../expected/expected_1.bin', 'results_1.bin')"),
    ),
    "changed-inputs-file": CheatingCandidate(
        _SPY, "overwrite the inputs that the reference reads", _FILES,
        _does("try:\n    open('../expected/inputs_0.bin', 'wb').write(b'')\nexcept OSError:\n    pass"),
    ),
    "pickle": CheatingCandidate(
        _SPY, "run code while a pickle is read", _HIDES,
        _does("import pickle\npickle.loads(pickle.dumps(Sneaky()))", "class Sneaky:\n    def __reduce__(self):\n        return print, ()\n"),
    ),
    "other-files-name": CheatingCandidate(
        _SPY, "compile code under the name of a file of NumPy", _HIDES, _does("exec(compile('import sys; sys._getframe(1)', numpy.__file__, 'exec'))")
    ),
    "renamed-code": CheatingCandidate(
        _SPY, "give a code object another file name", _HIDES, _does("f = (lambda: 0)\ncode = f.__code__.replace(co_filename=numpy.__file__)")
    ),
    # --- time ---
    "patched-clock": CheatingCandidate(_TIME, "replace time.perf_counter", _PATCHES, _does("import time\ntime.perf_counter = lambda: 0.0")),
    "patched-event": CheatingCandidate(
        _TIME, "replace torch.cuda.Event.elapsed_time", _PATCHES,
        _torch("torch.cuda.Event.elapsed_time = lambda self, other: 0.001\ndef run(x):\n    return honest(x)"), "torch",
    ),
    "patched-synchronize": CheatingCandidate(
        _TIME, "replace torch.cuda.synchronize", _PATCHES,
        _torch("torch.cuda.synchronize = lambda *a: None\ndef run(x):\n    return honest(x)"), "torch",
    ),
    "patched-do-bench": CheatingCandidate(
        _TIME, "replace triton.testing.do_bench", _PATCHES,
        _triton("import triton.testing\ntriton.testing.do_bench = lambda *a, **k: 0.001\ndef run(x):\n    return launched(scale, x)"), "torch",
    ),
    "slow-reference": CheatingCandidate(
        _TIME, "make torch slow for the reference", _PATCHES,
        _torch("old = torch.matmul\ndef slow(*a, **k):\n    for _ in range(10**6):\n        pass\n    return old(*a, **k)\n"
               "torch.matmul = slow\ndef run(x):\n    return honest(x)"), "torch",
    ),
    "side-stream": CheatingCandidate(
        _TIME, "launch in a stream that is not waited for", ("cheat:side-stream",),
        _torch("def run(x):\n    return honest(x, torch.cuda.Stream())"), "torch",
    ),
    "stream-context": CheatingCandidate(
        _TIME, "enter a stream of its own for the launch", ("cheat:side-stream",),
        _torch("def run(x):\n    with torch.cuda.stream(torch.cuda.Stream()):\n        return honest(x)"), "torch",
    ),
    "background-thread": CheatingCandidate(
        _TIME, "compute in a thread after it has returned", ("cheat:starts-threads",),
        _numpy("import threading\ndef run(x):\n    out = numpy.empty_like(x)\n"
               "    threading.Thread(target=lambda: out.__setitem__(slice(None), x * 2)).start()\n    return out"),
    ),
    "busy-thread": CheatingCandidate(
        _TIME, "keep processors busy while others are measured", ("cheat:starts-threads",),
        _does("import threading\nthreading.Thread(target=lambda: None, daemon=True).start()"),
    ),
    "sleep": CheatingCandidate(_TIME, "sleep while it is warmed up, so that fewer calls are timed", ("cheat:waits",), _does("import time\ntime.sleep(0.001)")),
    "lazy-tensor": CheatingCandidate(
        _TIME, "return a tensor subclass that computes when it is read", _DISGUISED,
        "import torch\nclass Lazy(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, f, types, args=(), kwargs=None):\n"
        "        with torch._C.DisableTorchFunctionSubclass():\n            return f(*[a.as_subclass(torch.Tensor) * 2 if isinstance(a, Lazy) else a for a in args], **(kwargs or {}))\n"
        "def run(x):\n    return x.as_subclass(Lazy)\n", "torch",
    ),
    "lazy-array": CheatingCandidate(
        _TIME, "return an object with __array__ that computes later", _DISGUISED,
        "class Lazy:\n    def __init__(self, x):\n        self.x, self.shape, self.dtype = x, x.shape, x.dtype\n"
        "    def __array__(self, *a, **k):\n        return self.x * 2\ndef run(x):\n    return Lazy(x)\n",
    ),
    "equal-to-all": CheatingCandidate(
        _TIME, "return an array whose __eq__ is always true", _DISGUISED,
        "import numpy\nclass Equal(numpy.ndarray):\n    def __eq__(self, other):\n        return numpy.ones(self.shape, bool)\n"
        "    def __sub__(self, other):\n        return numpy.zeros(self.shape)\ndef run(x):\n    return numpy.zeros_like(x).view(Equal)\n",
    ),
    "generator-result": CheatingCandidate(
        _TIME, "return a generator that computes when it is read", ("runtime-error",), "def run(x):\n    return (each for each in [x * 2])\n"
    ),
    # --- the report ---
    "early-exit": CheatingCandidate(_PROTOCOL, "end the process with status 0", ("cheat:early-exit",), "import os\ndef run(x):\n    os._exit(0)\n"),
    "system-exit": CheatingCandidate(_PROTOCOL, "raise SystemExit(0)", ("cheat:early-exit", "runtime-error"), "def run(x):\n    raise SystemExit(0)\n"),
    "printed-report": CheatingCandidate(
        _PROTOCOL, "print a report of success", _NO_KERNEL,
        "def run(x):\n    print('{\"accepted\": true, \"score\": 1.0, \"reason\": \"correct\"}', flush=True)\n    return x * 2\n",
    ),
    "written-report": CheatingCandidate(
        _PROTOCOL, "write a report into the judge's pipe, and end", _FORGED,
        "import json, os\ndef run(x):\n    for message in ({'value': {'launches': {'scale': 9}, 'seconds': [1e-9]}}, {'end': 0.0}):\n"
        "        data = json.dumps(message).encode()\n        os.write(3, len(data).to_bytes(4, 'little') + data)\n    os._exit(0)\n",
    ),
    "garbage-report": CheatingCandidate(
        _PROTOCOL, "write garbage into the judge's pipe", ("forbidden", "cheat:forged-report", "runtime-error"),
        "import os\ndef run(x):\n    os.write(3, b'\\xff' * 4096)\n    return x\n",
    ),
    "result-file": CheatingCandidate(
        _PROTOCOL, "write the files of results itself", _FILES, _does("open('results_0.bin', 'wb').write(b'tileir values 1\\n')")
    ),
    "at-exit": CheatingCandidate(
        _PROTOCOL, "change results when the process ends", ("cheat:runs-at-exit",), _does("import atexit\natexit.register(print)")
    ),
    "deleter": CheatingCandidate(
        _PROTOCOL, "write files in __del__", _FILES,
        _does("Late(), None", "class Late:\n    def __del__(self):\n        open('late', 'w').close()\n"),
    ),
    "signal-handler": CheatingCandidate(
        _PROTOCOL, "handle the signal that ends it", ("cheat:sends-signals",), _does("import signal\nsignal.signal(signal.SIGTERM, lambda *a: None)")
    ),
    "forged-launches": CheatingCandidate(
        _PROTOCOL, "write the record of a launch that never happened", (*_FILES, *_PATCHES),
        "from pathlib import Path\ndef run(x):\n    Path('launch_0.bin').write_bytes(b'tileir values 1\\n')\n    return x * 2\n",
    ),
    # --- numbers ---
    "zeros": CheatingCandidate(_NUMBERS, "return zeros, where results are small", _WRONG, _numpy("def run(x):\n    return honest(numpy.zeros_like(x))")),
    "uniform-softmax": CheatingCandidate(
        _NUMBERS, "return one over the row's length for a softmax", _WRONG,
        "import cuda.tile as ct\nimport numpy\n\n@ct.kernel\ndef mean(out, share):\n    i, j = ct.bid(0), ct.bid(1)\n"
        "    ct.store(out, (i, j), ct.full((4, 64), share, ct.float32))\n\ndef run(x):\n    out = numpy.empty_like(x)\n"
        "    ct.launch(None, (-(-x.shape[0] // 4), -(-x.shape[1] // 64)), mean, (out, 1.0 / x.shape[1]))\n    return out\n", "softmax",
    ),
    "all-nan": CheatingCandidate(
        _NUMBERS, "return NaN, which a careless comparison skips", _WRONG, _numpy("def run(x):\n    return honest(numpy.full_like(x, numpy.nan))")
    ),
    "infinities": CheatingCandidate(
        _NUMBERS, "return infinities, which differ by NaN", _WRONG, _numpy("def run(x):\n    return honest(numpy.full_like(x, numpy.inf))")
    ),
    "other-type": CheatingCandidate(
        _NUMBERS, "return float16 for float32", ("wrong-result", "wrong-shape"), _numpy("def run(x):\n    return honest(x.astype(numpy.float16))")
    ),
    "broadcast-scalar": CheatingCandidate(
        _NUMBERS, "return one number, which broadcasts", ("wrong-result", "wrong-shape"), _numpy("def run(x):\n    return honest(x)[:1]")
    ),
    "half-accumulator": CheatingCandidate(
        _NUMBERS, "accumulate a matmul in float16", ("imprecise", "wrong-result"),
        "import cuda.tile as ct\nimport numpy\n\n@ct.kernel\ndef multiply(a, b, out):\n    i, j = ct.bid(0), ct.bid(1)\n"
        "    total = ct.zeros((16, 16), ct.float16)\n    for k in range(ct.num_tiles(a, 1, (16, 16))):\n"
        "        x = ct.load(a, (i, k), (16, 16), padding_mode=ct.PaddingMode.ZERO).astype(ct.float16)\n"
        "        y = ct.load(b, (k, j), (16, 16), padding_mode=ct.PaddingMode.ZERO).astype(ct.float16)\n"
        "        total = ct.mma(x, y, total)\n    ct.store(out, (i, j), total.astype(ct.float32))\n\n"
        "def run(a, b):\n    out = numpy.empty((a.shape[0], b.shape[1]), numpy.float32)\n"
        "    ct.launch(None, (-(-a.shape[0] // 16), -(-b.shape[1] // 16)), multiply, (a, b, out))\n    return out\n", "matmul",
    ),
    "half-operands": CheatingCandidate(
        _NUMBERS, "round operands to float16 for a fast product", ("imprecise", "wrong-result"),
        "import cuda.tile as ct\nimport numpy\n\n@ct.kernel\ndef multiply(a, b, out):\n    i, j = ct.bid(0), ct.bid(1)\n"
        "    total = ct.zeros((16, 16), ct.float32)\n    for k in range(ct.num_tiles(a, 1, (16, 16))):\n"
        "        x = ct.load(a, (i, k), (16, 16), padding_mode=ct.PaddingMode.ZERO).astype(ct.float16)\n"
        "        y = ct.load(b, (k, j), (16, 16), padding_mode=ct.PaddingMode.ZERO).astype(ct.float16)\n"
        "        total = ct.mma(x, y, total)\n    ct.store(out, (i, j), total)\n\n"
        "def run(a, b):\n    out = numpy.empty((a.shape[0], b.shape[1]), numpy.float32)\n"
        "    ct.launch(None, (-(-a.shape[0] // 16), -(-b.shape[1] // 16)), multiply, (a, b, out))\n    return out\n", "matmul",
    ),
    "every-second-element": CheatingCandidate(
        _NUMBERS, "compute half of the tiles", ("wrong-result", "unwritten-output"),
        _numpy("def run(x):\n    out = numpy.empty_like(x)\n    ct.launch(None, (-(-len(x) // 128),), scale, (x, out))\n    return out"),
    ),
    "changed-input": CheatingCandidate(
        _NUMBERS, "zero the input, so that the reference computes zeros", ("changed-input", "wrong-result"),
        _numpy("def run(x):\n    out = honest(x)\n    x[:] = 0\n    return out"),
    ),
    "unwritten-output": CheatingCandidate(
        _NUMBERS, "leave the output argument as it is", ("wrong-shape", "unwritten-output"),
        _numpy("def run(x, out):\n    copied(x)"), "into",
    ),
    "random-result": CheatingCandidate(
        _NUMBERS, "add noise that stays within the tolerance, and differs each time",
        ("nondeterministic", "cheat:host-computation"),
        _numpy("calls = []\n@ct.kernel\ndef noisy(x, out, noise):\n    i = ct.bid(0)\n    ct.store(out, (i,), ct.load(x, (i,), (64,)) * 2 + noise)\n\n"
               "def run(x):\n    calls.append(1)\n    out = numpy.empty_like(x)\n"
               "    ct.launch(None, (-(-len(x) // 64),), noisy, (x, out, len(calls) * 1e-6))\n    return out"),
    ),
    # --- the machine ---
    "fork": CheatingCandidate(_SYSTEM, "fork, and go on after the judge's end", _PROCESSES, _does("import os\ntry:\n    os.fork()\nexcept OSError:\n    pass")),
    "subprocess": CheatingCandidate(
        _SYSTEM, "start a program", _PROCESSES, _does("import subprocess\ntry:\n    subprocess.run(['true'])\nexcept OSError:\n    pass")
    ),
    "shell": CheatingCandidate(_SYSTEM, "run a command of the shell", _PROCESSES, _does("import os\nos.system('true')")),
    "network": CheatingCandidate(
        _SYSTEM, "get the result from another machine", ("cheat:uses-the-network",),
        _does("import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9), 0.1)\nexcept OSError:\n    pass"),
    ),
    "killed-parent": CheatingCandidate(
        _SYSTEM, "end the judge", ("cheat:sends-signals",), _does("import os, signal\ntry:\n    os.kill(os.getppid(), signal.SIGTERM)\nexcept OSError:\n    pass")
    ),
    "traced-parent": CheatingCandidate(
        _SYSTEM, "attach to the judge by ptrace", _NATIVE, _does("import ctypes, os\nctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0)")
    ),
    "endless-loop": CheatingCandidate(_SYSTEM, "never end", ("timeout",), "def run(x):\n    while True:\n        pass\n", seconds=6.0),
    "much-memory": CheatingCandidate(_SYSTEM, "take all memory", ("memory",), "def run(x):\n    return [bytearray(1 << 30) for _ in range(64)]\n"),
    "much-output": CheatingCandidate(
        _SYSTEM, "flood the output", _NO_KERNEL, "def run(x):\n    print('x' * (8 << 20))\n    return x * 2\n"
    ),
    "decompression-bomb": CheatingCandidate(
        _SYSTEM, "unpack a small blob to gigabytes", ("memory", "timeout"),
        "import zlib\ndef run(x):\n    small = zlib.compress(bytes(1 << 24))\n    return b''.join(zlib.decompress(small) for _ in range(4096))\n",
    ),
    "large-file": CheatingCandidate(
        _SYSTEM, "fill the disk", _FILES, "def run(x):\n    with open('large', 'wb') as file:\n        for _ in range(1000):\n            file.write(bytes(1 << 20))\n    return x * 2\n"
    ),
    "huge-result": CheatingCandidate(
        _SYSTEM, "return a result of gigabytes", ("wrong-result", "memory", "wrong-shape", "forbidden", "cheat:no-kernel", "cheat:disguised-result"),
        "import numpy\ndef run(x):\n    return numpy.zeros(1 << 28, numpy.float32)\n",
    ),
    "crash": CheatingCandidate(
        _SYSTEM, "crash the process when results are about to be compared", ("crash", "cheat:native-code"),
        _does("import ctypes\nctypes.string_at(0)"),
    ),
}  # fmt: skip
