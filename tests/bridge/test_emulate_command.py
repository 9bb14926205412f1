"""`tileir emulate` and TILEIR_EMULATE: scripts run as Python runs them, with launches that run here."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.optional import needs

import tileir

pytest.importorskip("cuda.tile", reason="scripts launch cuTile kernels")

SOURCES = Path(tileir.__file__).parents[1]

KERNEL = """
import sys
sys.modules["torch"] = None  # which cuTile imports where it can
import cuda.tile as ct
import numpy

@ct.kernel
def add(a, b, c):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), (16,)) + ct.load(b, (i,), (16,)))

a, c = numpy.ones(32, "f4"), numpy.zeros(32, "f4")

def start(grid, *arguments):
    ct.launch(None, (grid,), add, arguments)
"""


def python(*arguments: str, cwd: Path, variable: str = "", stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TILEIR_EMULATE"}
    environment["PYTHONPATH"] = os.pathsep.join([str(SOURCES), *sys.path])
    if variable:
        environment["TILEIR_EMULATE"] = variable
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, input=stdin, timeout=300
    )


def emulate(*arguments: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return python("-m", "tileir", "emulate", *arguments, cwd=cwd, stdin=stdin)


def written(folder: Path, body: str, name: str = "script.py") -> str:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(KERNEL + body, encoding="utf-8")
    return name


# --- a program as Python has it ---


def test_script_finds_what_python_gives_it(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "neighbor.py").write_text("WORD = 'beside'\n", encoding="utf-8")
    body = """
import gc, os
from neighbor import WORD
start(2, a, a, c)
print(c.sum(), WORD, __name__, __file__, sys.argv, os.path.basename(sys.path[0]), __spec__, gc.isenabled())
print(sys.modules["__main__"].start is start, os.environ["TILEIR_EMULATE"], __builtins__ is sys.modules["builtins"])
"""
    script = written(tmp_path, body, "inner/script.py")
    found = emulate("--target", "h100", script, "--sanitize", "-x", "--", cwd=tmp_path)
    assert found.stderr == ""
    assert found.stdout.splitlines() == [
        f"64.0 beside __main__ {script} {[script, '--sanitize', '-x', '--']} inner None True",
        "True target=h100 True",
    ]
    assert found.returncode == 0


def test_module_and_text_run_as_python_runs_them(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "__init__.py").touch()
    body = "start(2, a, a, c)\nprint(c.sum(), __package__, __spec__.name, sys.argv[1:])\n"
    written(tmp_path, body, "part/tool.py")
    found = emulate("-m", "part.tool", "--gpu", "x", cwd=tmp_path)
    assert (found.stdout, found.stderr, found.returncode) == ("64.0 part part.tool ['--gpu', 'x']\n", "", 0)
    found = emulate("-c", "import sys; print(sys.argv, repr(sys.path[0]))", "y", cwd=tmp_path)
    assert found.stdout == "['-c', 'y'] ''\n"
    found = emulate("-m", "part.missing", cwd=tmp_path)
    assert "No module named part.missing" in found.stderr
    assert found.returncode == 1


@pytest.mark.parametrize(("body", "status"), [("sys.exit(7)", 7), ("sys.exit()", 0), ("sys.exit('no')", 1), ("", 0)])
def test_exit_status_is_that_of_the_program(tmp_path: Path, body: str, status: int) -> None:
    (tmp_path / "script.py").write_text(f"import sys\n{body}\n", encoding="utf-8")
    assert emulate("script.py", cwd=tmp_path).returncode == status


def test_traceback_has_the_lines_of_the_script_alone(tmp_path: Path) -> None:
    found = emulate(written(tmp_path, "start(1, a, a)\n"), cwd=tmp_path)
    assert found.returncode == 1
    lines = found.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert (
        re.findall(r'File "(.*)", line', found.stderr) == ["script.py"] * 2
        or re.findall(r'File "(.*)", line', found.stderr) == [str(tmp_path / "script.py")] * 2
    )
    message = "tileir.errors.LaunchError: error: add takes 3 arguments (a, b, c), but 2 were given"
    assert lines[-1] == f"{message} (cuTile: Kernel expects 3 arguments but 2 were given)"


def test_exception_of_the_script_looks_as_with_python(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("def f():\n    return 1 / 0\n\nf()\n", encoding="utf-8")
    found, plain = emulate("script.py", cwd=tmp_path), python("script.py", cwd=tmp_path)
    assert found.stderr.replace(f"{tmp_path}{os.sep}", "") == plain.stderr.replace(f"{tmp_path}{os.sep}", "")
    assert found.returncode == plain.returncode == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals of this kind")
def test_interrupt_ends_the_process_as_python_does(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    found, plain = emulate("script.py", cwd=tmp_path), python("script.py", cwd=tmp_path)
    assert found.stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert "tileir" not in found.stderr
    assert found.returncode == plain.returncode


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "expected SCRIPT, PROGRAM, -m MODULE or -c CODE"),
        (("missing.py",), "cannot read 'missing.py': No such file or directory"),
        (("--trace", "x", "s.py"), "'x' is no tile block"),
        (("--backend", "abacus", "s.py"), "abacus"),
        (("--sanitize=most", "s.py"), "'most' is not a value of '--sanitize'"),
    ],
)
def test_wrong_command_line_is_named(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    found = emulate(*arguments, cwd=tmp_path)
    assert found.returncode == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr


# --- launches that are looked at ---


def test_findings_are_written_and_decide_the_exit_status(tmp_path: Path) -> None:
    # The same mistake twice is told once; a summary follows whatever the script says when it ends.
    body = "start(2, a, a, c)\nstart(3, a, a, c)\nstart(3, a, a, c)\nprint('goes on')\n"
    found = emulate("--sanitize", written(tmp_path, body), cwd=tmp_path)
    assert found.stdout == "goes on\n"
    assert found.stderr.count("sanitizer: 3 findings in add, grid (3, 1, 1)") == 1
    assert "launched at script.py:15 in start" in found.stderr
    last = "tileir: 3 different findings in 2 of 3 launches, written above"
    assert found.stderr.splitlines()[-1] == last
    assert found.returncode == 1


def test_reading_what_the_script_allocated_and_did_not_write_is_a_finding(tmp_path: Path) -> None:
    body = "from numpy import empty\nd = empty(32, 'f4')\nd[:20] = 1\nstart(2, a, d, empty(32, 'f4'))\n"
    found = emulate("--sanitize", written(tmp_path, body), cwd=tmp_path)
    assert (
        "uninitialized: ct.load reads uninitialized memory\n  --> script.py:10, tile block (1, 0, 0), element [4]\n"
        in (found.stderr)
    )
    assert "  nothing was stored to b (array float32[32]) at [20] before\n" in found.stderr
    assert "  it was allocated at script.py:17 in <module>\n" in found.stderr
    assert found.returncode == 1
    written_first = body.replace("d[:20]", "d[:]")
    assert emulate("--sanitize", written(tmp_path, written_first), cwd=tmp_path).returncode == 0


def test_launches_by_tileir_are_looked_at_as_well(tmp_path: Path) -> None:
    body = "import tileir\nstart(2, a, a, c)\ntileir.launch(add, 3, (a, a, c))\nprint(c.sum())\n"
    script = written(tmp_path, body)
    found = emulate("--sanitize", script, cwd=tmp_path)
    assert found.stdout == "64.0\n"
    assert "tile block (2, 0, 0)" in found.stderr
    assert "launched at script.py" in found.stderr
    assert "in 1 of 2 launches" in found.stderr
    assert found.returncode == 1
    # Without anything to look for nothing is different.
    assert emulate(script, cwd=tmp_path).stdout == "64.0\n"


def test_launch_that_looks_for_itself_raises_what_it_finds(tmp_path: Path) -> None:
    body = """
import tileir
try:
    tileir.launch(add, 3, (a, a, c), sanitize=True)
except tileir.SanitizerError:
    print("caught")
"""
    found = emulate("--sanitize", written(tmp_path, body), cwd=tmp_path)
    assert found.stdout == "caught\n"


def test_nothing_found_is_said(tmp_path: Path) -> None:
    found = emulate("--sanitize", "--watch-nan", written(tmp_path, "start(2, a, a, c)\n"), cwd=tmp_path)
    assert found.stderr == "tileir: nothing found in 1 launch\n"
    assert found.returncode == 0


def test_exit_status_of_the_program_comes_before_findings(tmp_path: Path) -> None:
    found = emulate("--sanitize", written(tmp_path, "start(3, a, a, c)\nsys.exit(5)\n"), cwd=tmp_path)
    assert found.returncode == 5


def test_watch_and_trace_of_one_kernel(tmp_path: Path) -> None:
    body = "a[0] = numpy.inf\nstart(2, a, -a, c)\n"
    found = emulate("--watch-nan", "--trace", "add:1", written(tmp_path, body), cwd=tmp_path)
    assert "trace of add, launched at script.py:15 in start\ntile block (1, 0, 0)\n" in found.stderr
    assert "watch: 1 finding in add" in found.stderr
    assert found.returncode == 1


def test_trace_of_what_is_not_there_says_so(tmp_path: Path) -> None:
    script = written(tmp_path, "start(2, a, a, c)\n")
    other = emulate("--trace", "matmul:1", script, cwd=tmp_path)
    assert other.stderr == "tileir: nothing was traced: no kernel named 'matmul' was launched, but add\n"
    outside = emulate("--trace", "2", script, cwd=tmp_path)
    place = "trace of add, launched at script.py:15 in start"
    assert outside.stderr == f"{place}: there is no tile block (2, 0, 0) in its grid (2, 1, 1)\n"
    none = emulate("--trace", "2", written(tmp_path, ""), cwd=tmp_path)
    assert none.stderr == "tileir: nothing was traced: no kernel was launched\n"
    assert other.returncode == outside.returncode == none.returncode == 0


def test_traces_of_threads_are_written_one_after_the_other(tmp_path: Path) -> None:
    body = """
import threading
barrier = threading.Barrier(4)

def work():
    barrier.wait()
    for _ in range(3):
        start(2, a, a, numpy.zeros(32, "f4"))

threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    result = emulate("--trace", "1", written(tmp_path, body), cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    _, first, *others = re.split(r"^trace of add, launched at \S+ in start$", result.stderr, flags=re.MULTILINE)
    assert "ct.load" in first and len(others) == 11 and set(others) == {first}


def test_script_that_forgets_to_move_its_tensors_hears_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = KERNEL.replace('sys.modules["torch"] = None  # which cuTile imports where it can', "import torch")
    (tmp_path / "script.py").write_text(
        text
        + "a = torch.ones(32)\n"
        + "start(2, a.cuda(), a.pin_memory(), a.cuda())\n"
        + "start(2, a.cuda(), a, a.cuda())\n",
        encoding="utf-8",
    )
    result = emulate("script.py", cwd=tmp_path)
    assert "LaunchError: error: argument 'b' is a tensor of the CPU" in result.stderr and result.returncode == 1
    assert "line 18, in <module>" in result.stderr


def test_debugger_stops_at_the_launch(tmp_path: Path) -> None:
    body = "try:\n    start(3, a, a, c)\nexcept Exception as error:\n    print(type(error).__name__)\n"
    script = written(tmp_path, body)
    found = emulate("--sanitize", "--pdb", script, cwd=tmp_path, stdin="p grid + 40\ncontinue\n")
    assert "(Pdb) 43\n" in found.stdout
    assert "SanitizerError" in found.stdout
    assert "tileir: stopped at the launch" in found.stderr
    assert found.stderr.count("sanitizer: 3 findings in add") == 1
    assert found.stderr.endswith("tileir: 3 different findings in 1 of 1 launch, written above\n")
    assert found.returncode == 1
    found = emulate("--sanitize", "--pdb", script, cwd=tmp_path, stdin="quit\n")
    assert "SanitizerError" not in found.stdout
    assert found.returncode == 1


# --- the variable ---


def started(variable: str, script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A Python that has the `.pth` file among its packages."""
    text = f"import site, sys; site.addsitedir({str(SOURCES)!r}); sys.argv.pop(0)\n"
    text += f"exec(compile(open({script!r}).read(), {script!r}, 'exec'))\n"
    return python("-c", text, script, cwd=cwd, variable=variable)


@pytest.mark.skipif(not (SOURCES / "tileir_emulate.pth").exists(), reason="the package has no file for site")
def test_variable_does_what_the_command_does(tmp_path: Path) -> None:
    body = "start(3, a, a, c)\nprint(c.sum())\n"
    found = started("sanitize", written(tmp_path, body), tmp_path)
    assert found.stdout == "64.0\n"
    assert found.stderr.splitlines()[-1] == "tileir: 3 different findings in 1 of 1 launch, written above"
    assert found.returncode == 1
    found = started("1", written(tmp_path, "start(2, a, a)\n"), tmp_path)
    assert found.stderr.count("File ") == 3
    assert "add takes 3 arguments (a, b, c), but 2 were given" in found.stderr.splitlines()[-1]
    found = started("sanitise", written(tmp_path, body), tmp_path)
    assert found.stderr.startswith("error: TILEIR_EMULATE: there is no option 'sanitise'")
    assert found.returncode == 2


@pytest.mark.skipif(not (SOURCES / "tileir_emulate.pth").exists(), reason="the package has no file for site")
@pytest.mark.parametrize("variable", ["", "1"])
def test_nothing_is_imported_until_it_is_needed(tmp_path: Path, variable: str) -> None:
    (tmp_path / "script.py").write_text("print([n for n in sys.modules if n.startswith(('tileir', 'numpy'))])\n")
    found = started(variable, "script.py", tmp_path)
    names = eval(found.stdout)
    if variable:
        assert set(names) == {
            "tileir",
            "tileir.forking",
            "tileir.public",
            "tileir.bridge",
            "tileir.bridge.hooks",
            "tileir.bridge.process",
            "tileir.bridge.settings",
        }
    else:
        assert names == []


def test_errors_of_launches_obey_names(tmp_path: Path) -> None:
    body = """
@ct.kernel
def fill(y):
    ct.scatter(y, ct.arange(4, dtype=ct.int32) * 2, 1.0, check_bounds=False)

ct.launch(None, (1,), fill, (numpy.zeros(4, "f4"),))
"""
    found = emulate("--names", "tile", written(tmp_path, body), cwd=tmp_path)
    assert found.returncode == 1
    assert "error: 'cuda_tile.store_ptr_tko' op accesses 4 bytes" in found.stderr
    assert "note: the operation is: " in found.stderr


SLOW = """
import sys
sys.modules["torch"] = None
import cuda.tile as ct
import numpy

@ct.kernel
def slow(out, n: ct.Constant[int]):
    x = ct.full((64,), 1.0, dtype=ct.float32)
    for _ in range(n):
        x = x * 0.5 + 1.0
    ct.store(out, (ct.bid(0),), x)

out = numpy.zeros(64 * 400, "f4")
ct.launch(None, (400,), slow, (out, 400))
print("done", float(out[0]))
"""


def test_a_terminal_shows_how_far_a_long_launch_is(tmp_path: Path) -> None:
    needs("terminal")
    (tmp_path / "slow.py").write_text(SLOW)
    own, other = os.openpty()
    command = [sys.executable, "-m", "tileir", "emulate", "--backend", "interpreter", "slow.py"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=other)
    os.close(other)
    shown = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(own, 4096):
            shown += chunk
    os.close(own)
    assert process.communicate(timeout=60)[0] == b"done 2.0\n"
    assert re.search(rb"\[#+\.+\] \d+ of 400 tile blocks, \d+ s left", shown)
    assert shown.endswith(b"\r\x1b[K")
