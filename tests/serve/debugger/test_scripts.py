"""cuTile scripts in the debugger: their lines, their variables, one launch after the other."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from tests.serve.debugger.client import RequestFailed, address_in, over_socket, over_stdio

import tileir

pytest.importorskip("cuda.tile", reason="scripts launch cuTile kernels")

SCRIPT = """\
import sys
sys.modules["torch"] = None  # which cuTile imports where it can
import cuda.tile as ct
import numpy

@ct.kernel
def add(a, b, c):
    i = ct.bid(0)
    left = ct.load(a, (i,), (16,))
    total = left + ct.load(b, (i,), (16,))
    ct.store(c, (i,), total)

@ct.kernel
def double(a):
    i = ct.bid(0)
    ct.store(a, (i,), 2 * ct.load(a, (i,), (16,)))

a, c = numpy.ones(32, "f4"), numpy.zeros(32, "f4")
print("begins", *sys.argv[1:])
ct.launch(None, (2,), add, (a, a, c))
ct.launch(None, (2,), double, (c,))
ct.launch(None, (2,), add, (a, c, c))
print("sum", c.sum())
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return str(path)


def environment(**more: str) -> dict[str, str]:
    sources = os.path.dirname(os.path.dirname(os.path.abspath(tileir.__file__)))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([sources, *sys.path]), **more}


def tool(*words: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tileir", *words]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, env=environment(**more), timeout=300, check=False
    )


def test_script_is_stepped_through_by_its_lines(script: str) -> None:
    commands = ["next", "next", "next", "p left.sum()", "next-launch", "info frame", "detach"]
    found = tool("debug", "--batch", *[word for one in commands for word in ("-ex", one)], script)
    assert found.returncode == 0, found.stderr
    lines = [line.partition("\t")[0] for line in found.stdout.splitlines() if "\t" in line]
    assert lines == ["7", "8", "9", "10", "13"] or lines == ["7", "8", "9", "10", "14"]
    assert "  i = 0\n" in found.stdout
    assert "$1 = 16.0\n" in found.stdout
    assert "Frame 0: double (0, 0, 0)\n" in found.stdout
    assert found.stdout.endswith("sum 160.0\n")


@pytest.mark.long
def test_variable_stops_emulated_launches_of_a_kernel(script: str) -> None:
    found = tool("emulate", script, stdin="bt\ncontinue\n", TILEIR_DEBUG="double")
    assert "double (0, 0, 0) at " in found.stdout and "add (" not in found.stdout
    assert found.stdout.endswith("sum 160.0\n")
    found = tool("emulate", script, stdin="quit\n", TILEIR_DEBUG="1")
    assert "add (0, 0, 0) at " in found.stdout and "sum" not in found.stdout
    assert found.returncode == 1


def test_editor_debugs_the_launches_of_a_script(script: str) -> None:
    client = over_stdio(env=environment())
    pending: list[dict] = []

    def configure() -> None:
        asked = client.request("setBreakpoints", source={"path": script}, breakpoints=[{"line": 11}])
        pending.extend(asked["breakpoints"])

    client.begin(configure, program=script, args=["one", "two"], stopOnEntry=True)
    assert client.stopped()["reason"] == "entry"
    assert not pending[0]["verified"] and "when a kernel is launched" in pending[0]["message"]
    assert client.event("breakpoint")["breakpoint"]["verified"]
    assert client.frames()[0]["name"] == "add (0, 0, 0)"
    assert client.frames()[0]["source"]["path"] == script
    for _ in range(3):
        client.step("next")
    assert client.evaluate("left.sum()")["result"] == "16.0"
    client.evaluate("next-launch", "repl")
    client.stopped()
    assert client.frames()[0]["name"] == "double (0, 0, 0)"
    # The breakpoint is there in the next launch of its kernel.
    client.request("continue", threadId=1)
    assert client.stopped()["reason"] == "breakpoint" and client.top()["line"] == 11
    client.request("setBreakpoints", source={"path": script}, breakpoints=[])
    client.request("continue", threadId=1)
    assert client.event("exited")["exitCode"] == 0
    client.event("terminated")
    assert client.output("stdout") == "begins one two\nsum 160.0\n"
    client.request("disconnect")
    client.close()


def test_editor_attaches_to_a_script_that_waits(script: str) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "tileir", "emulate", script],
        env=environment(TILEIR_DEBUG="tcp:127.0.0.1:0"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    words = running.stderr.readline()
    assert words.startswith("tileir: waiting for a debugger at 127.0.0.1:")
    port, token = address_in(words)
    # Somebody who connects and sends nothing keeps no editor waiting.
    idle = socket.create_connection(("127.0.0.1", port))
    stranger = over_socket(("127.0.0.1", port))
    stranger.initialize()
    with pytest.raises(RequestFailed, match="'attach' needs \"token\""):
        stranger.request("attach", port=port)
    assert stranger.receive() is None
    stranger.close()
    client = over_socket(("127.0.0.1", port))
    client.begin(how="attach", host="127.0.0.1", port=port, token=token)
    assert client.stopped()["reason"] == "entry"
    assert client.frames()[0]["name"] == "add (0, 0, 0)"
    # The script goes on without the editor.
    client.request("disconnect")
    output, _ = running.communicate(timeout=120)
    assert output.endswith("sum 160.0\n")
    assert running.returncode == 0
    client.close()
    idle.close()


def test_debug_launches_a_compiled_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    program = str(Path(__file__).parents[3] / "examples" / "vector_add.mlir")
    a = numpy.arange(256, dtype="f4")
    c = numpy.zeros(256, "f4")
    tileir.debug(program, 2, (a, a, c, 256), commands=["next", "continue"])
    assert (c == 2 * a).all()
    assert "vector_add (0, 0, 0) at " in capsys.readouterr().out
    with pytest.raises(tileir.LaunchError, match="the arguments of a launch are a tuple"):
        tileir.debug(program, 2, a)  # type: ignore[arg-type]
    with pytest.raises(tileir.LaunchError, match="is no address to listen at"):
        tileir.debug(program, 2, (a, a, c, 256), listen="nowhere")


FAILING = """cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    %one = constant <i32: 1> : tile<i32>
    %small = cmpi less_than %x, %one, signed : tile<i32> -> tile<i1>
    assert %small, "too large" : tile<i1>
    return
  }
}
"""


@pytest.mark.parametrize("commands", [["continue", "continue"], ["break 4", "continue", "detach"], ["skip"]])
def test_a_launch_that_fails_raises_what_a_plain_one_does(commands: list[str], tmp_path: Path) -> None:
    path = tmp_path / "failing.mlir"
    path.write_text(FAILING)
    with pytest.raises(tileir.ExecutionError) as plain:
        tileir.compile(path, backend="interpreter").launch(1, (3,))
    with pytest.raises(type(plain.value)) as debugged:
        tileir.debug(str(path), 1, (3,), commands=commands)
    assert type(debugged.value) is type(plain.value) and str(debugged.value) == str(plain.value)
    assert debugged.value.block == (0, 0, 0)
