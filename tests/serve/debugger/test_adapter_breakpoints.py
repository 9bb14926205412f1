"""Breakpoints of all kinds over the wire, and runs that are long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serve.debugger.client import Client, RequestFailed, in_process

EXAMPLES = Path(__file__).parents[3] / "examples"
PROGRAM = str(EXAMPLES / "matmul.mlir")
MATMUL: dict[str, Any] = {
    "program": PROGRAM,
    "grid": [2, 2],
    "args": ["rand:f16:128x128", "rand:f16:128x128", "zeros:f32:128x128", "128", "128", "128"],
}
SOURCE = {"path": PROGRAM}


@pytest.fixture
def client() -> Iterator[Client]:
    client = in_process()
    client.initialize(supportsProgressReporting=True)
    yield client
    client.close()


def lines(client: Client, *breakpoints: dict[str, Any]) -> list[dict[str, Any]]:
    return client.request("setBreakpoints", source=SOURCE, breakpoints=list(breakpoints))["breakpoints"]


def test_lines_are_verified_and_moved(client: Client) -> None:
    found: list[dict[str, Any]] = []
    client.begin(lambda: found.extend(lines(client, {"line": 29}, {"line": 7}, {"line": 99})), **MATMUL)
    assert [one["verified"] for one in found] == [True, True, False]
    assert [one.get("line") for one in found] == [29, 8, 99]
    assert "moved to line 8" in found[1]["message"] and "no operation" in found[2]["message"]
    stop = client.stopped()
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("breakpoint", [found[1]["id"]])
    assert client.step("continue")["hitBreakpointIds"] == [found[0]["id"]]
    assert client.frames()[0]["name"] == "for %step = 0 (round 1 of 4)"
    where = client.request("breakpointLocations", source=SOURCE, line=1, endLine=12)["breakpoints"]
    assert [one["line"] for one in where] == [5, 8, 9, 10]
    (placed,) = lines(client, {"line": 8, "column": 80})
    assert {"line": placed["line"], "column": placed["column"]} == where[1]
    behind = client.request("breakpointLocations", source=SOURCE, line=8, column=where[1]["column"] + 1)
    assert behind["breakpoints"] == []


def test_conditions_hit_counts_and_log_points(client: Client) -> None:
    def configure() -> None:
        lines(client, {"line": 29, "condition": "step == 2"}, {"line": 27, "logMessage": "round {step}"})
        client.request("setFunctionBreakpoints", breakpoints=[{"name": "mmaf", "hitCondition": ">= 16"}])

    client.begin(configure, **MATMUL)
    assert client.stopped()["reason"] == "breakpoint"
    assert client.evaluate("step")["result"] == "2"
    assert client.output("stdout") + client.output("console") == "round 0\nround 1\nround 2\n"
    for block in (2, 3, 4):
        assert client.step("continue")["threadId"] == block
    stop = client.step("continue")
    assert stop["reason"] == "function breakpoint" and client.evaluate("step")["result"] == "3"


def test_wrong_condition_is_said_where_it_is_set(client: Client) -> None:
    client.begin(**MATMUL, stopOnEntry=True)
    client.stopped()
    one, two = lines(client, {"line": 29, "condition": "step ="}, {"line": 29, "hitCondition": "often"})
    assert not one["verified"] and "cannot be read" in one["message"]
    assert not two["verified"] and "'often' is no number of hits" in two["message"]


def test_functions_are_kernels_operations_values_and_blocks(client: Client) -> None:
    client.begin(**MATMUL, stopOnEntry=True)
    client.stopped()
    names = ["matmul", "mmaf", "%sum", "block 2", "nothing"]
    found = client.request("setFunctionBreakpoints", breakpoints=[{"name": name} for name in names])["breakpoints"]
    assert [one["verified"] for one in found] == [True, True, True, True, False]
    assert [one.get("line") for one in found[:3]] == [5, 29, 26]


def test_elements_of_arrays_are_watched(client: Client) -> None:
    client.begin(**MATMUL, stopOnEntry=True)
    client.stopped()
    array = next(one for one in client.scope("Arrays") if one["name"] == "c")
    rows = client.request(
        "variables", variablesReference=array["variablesReference"], filter="indexed", start=64, count=1
    )
    row = rows["variables"][0]["variablesReference"]
    info = client.request("dataBreakpointInfo", variablesReference=row, name="[3]")
    assert info["dataId"] == "c[64, 3]" and info["accessTypes"] == ["write", "read", "readWrite"]
    found = client.request("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"], "accessType": "write"}])
    assert found["breakpoints"][0]["verified"]
    assert client.step("continue")["reason"] == "data breakpoint"
    assert client.request("threads")["threads"][0]["name"] == "tile block (1, 0, 0)"
    assert float(client.evaluate("c[64, 3]")["result"]) > 0
    (written,) = client.scope("Last step")
    assert written["name"] == "writes" and written["value"].startswith("c[64:128, 0:64]")
    assert client.step("reverseContinue")["reason"] == "entry"
    assert client.evaluate("c[64, 3]")["result"] == "0.0"
    assert client.request("dataBreakpointInfo", name="nothing")["dataId"] is None
    wanted = [{"dataId": "a[64, 0]", "accessType": "read"}, {"dataId": "c[64, 3]", "accessType": "readWrite"}]
    numbers = [one["id"] for one in client.request("setDataBreakpoints", breakpoints=wanted)["breakpoints"]]
    hit = [client.step("continue")["hitBreakpointIds"] for _ in range(2)]
    # The row of tiles is read once for its product, and then there is the sum.
    assert hit == [[numbers[0]], [numbers[1]]]


def test_operations_are_instructions(client: Client) -> None:
    client.begin(**MATMUL, stopOnEntry=True)
    client.stopped()
    pointer = client.top()["instructionPointerReference"]
    listing = client.request("disassemble", memoryReference=pointer, instructionOffset=-2, instructionCount=60)
    shown = listing["instructions"]
    assert len(shown) == 60 and shown[0]["presentationHint"] == "invalid"
    mmaf = next(one for one in shown if "mmaf" in one["instruction"])
    wanted = [{"instructionReference": mmaf["address"]}]
    assert client.request("setInstructionBreakpoints", breakpoints=wanted)["breakpoints"][0]["verified"]
    assert client.step("continue")["reason"] == "instruction breakpoint"
    assert client.top()["line"] == mmaf["line"] == 29
    client.step("next", granularity="instruction")
    assert client.top()["line"] == 30
    with pytest.raises(RequestFailed, match="there is no granularity 'word'"):
        client.request("next", threadId=1, granularity="word", check=False)


def test_goto_and_restart_of_frames(client: Client) -> None:
    client.begin(lambda: lines(client, {"line": 29, "condition": "step == 2"}), **MATMUL)
    client.stopped()
    targets = client.request("gotoTargets", source=SOURCE, line=27)["targets"]
    assert len(targets) == 2
    client.request("goto", threadId=1, targetId=targets[0]["id"])
    assert client.stopped()["reason"] == "goto"
    assert client.evaluate("step")["result"] == "3"
    client.request("restartFrame", frameId=client.frames()[-1]["id"])
    client.stopped()
    assert client.top()["line"] == 5


def test_restart_runs_the_launch_again(client: Client) -> None:
    client.begin(lambda: lines(client, {"line": 34}), **MATMUL)
    client.stopped()
    client.step("continue")
    assert client.thread() == 2
    client.request("restart")
    client.stopped()
    assert client.thread() == 1 and client.top()["line"] == 34


FAILS = """\
cuda_tile.module @m { entry @fails() {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %small = cmpi less_than %x, %two, signed : tile<i32> -> tile<i1>
  assert %small, "too {large}" : tile<i1>
  return
} }
"""


def test_failures_are_exceptions(client: Client, tmp_path: Path) -> None:
    program = tmp_path / "fails.mlir"
    program.write_text(FAILS)
    client.begin(lambda: client.request("setExceptionBreakpoints", filters=["failure"]), program=str(program), grid=3)
    assert client.stopped()["reason"] == "exception"
    info = client.request("exceptionInfo", threadId=3)
    assert info["exceptionId"] == "failure" and "too {large}" in info["description"]
    assert client.top()["line"] == 5
    client.request("continue", threadId=3)
    assert client.event("exited")["exitCode"] == 1
    assert "too {large}" in client.output("stderr")


def test_failures_that_nobody_stops_at_end_the_launch(client: Client, tmp_path: Path) -> None:
    program = tmp_path / "fails.mlir"
    program.write_text(FAILS)
    client.begin(lambda: client.request("setExceptionBreakpoints", filters=[]), program=str(program), grid=3)
    assert client.event("exited")["exitCode"] == 1
    with pytest.raises(RequestFailed, match="there is no filter 'fish'"):
        client.request("setExceptionBreakpoints", filters=["fish"])


ENDLESS = """\
cuda_tile.module @m { entry @endless() {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %end = loop iter_values(%i = %zero) : tile<i32> -> tile<i32> {
    %next = addi %i, %one : tile<i32>
    continue %next : tile<i32>
  }
  return
} }
"""


def test_endless_launch_is_paused_and_reconfigured(client: Client, tmp_path: Path) -> None:
    program = tmp_path / "endless.mlir"
    program.write_text(ENDLESS)
    client.begin(program=str(program))
    client.event("progressStart")
    assert client.request("threads")["threads"] == [{"id": 1, "name": "the launch"}]
    with pytest.raises(RequestFailed, match="the launch is running"):
        client.request("stackTrace", threadId=1)
    client.request("pause", threadId=1)
    assert client.stopped()["reason"] == "pause"
    client.event("progressEnd")
    assert client.frames()[-1]["name"] == "endless (0, 0, 0)"
    client.request("continue", threadId=1)
    # Set while it runs.
    found = client.request("setBreakpoints", source={"path": str(program)}, breakpoints=[{"line": 5}])
    assert found["breakpoints"][0]["verified"]
    assert client.stopped()["reason"] == "breakpoint"
    client.request("terminate")
    client.event("terminated")


def test_findings_of_the_sanitizer_and_nan_are_exceptions(client: Client, tmp_path: Path) -> None:
    program = tmp_path / "nan.mlir"
    program.write_text(
        "cuda_tile.module @m { entry @nan(%a: tile<ptr<f32>>) {\n"
        "  %far = constant <i32: 99> : tile<i32>\n"
        "  %zero = constant <f32: 0.0> : tile<f32>\n"
        "  %nan = divf %zero, %zero : tile<f32>\n"
        "  %p = offset %a, %far : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>\n"
        "  %t = store_ptr_tko weak %p, %nan : tile<ptr<f32>>, tile<f32> -> token\n"
        "  return\n} }\n"
    )
    launch: dict[str, Any] = {"program": str(program), "args": ["zeros:f32:4"]}
    client.begin(lambda: client.request("setExceptionBreakpoints", filters=["nan"]), **launch)
    assert client.stopped()["reason"] == "exception"
    info = client.request("exceptionInfo", threadId=1)
    assert info["exceptionId"] == "nan" and "divf makes a NaN" in info["description"]
    client.request("setExceptionBreakpoints", filters=["sanitizer"])
    client.request("restart")
    assert client.stopped()["reason"] == "exception"
    info = client.request("exceptionInfo", threadId=1)
    assert info["exceptionId"] == "sanitizer" and "out-of-bounds" in info["description"]


def test_console_displays_at_stops_and_numbers_what_it_prints(client: Client) -> None:
    client.begin(lambda: client.request("setBreakpoints", source=SOURCE, breakpoints=[{"line": 29}]), **MATMUL)
    client.stopped()
    assert client.evaluate("display step * 2", "repl")["result"] == "1: step * 2 = 0"
    assert client.evaluate("print step + 3", "repl")["result"] == "$1 = 3"
    client.step("continue")
    client.step("continue")
    assert client.output("console").endswith("1: step * 2 = 2\n1: step * 2 = 4\n")
    assert client.evaluate("$1 + $", "repl")["result"] == "6"
    client.evaluate("undisplay", "repl")
    client.step("continue")
    assert client.output("console").endswith("1: step * 2 = 4\n")


def test_a_command_that_fails_while_the_launch_runs_is_reported_and_the_session_continues() -> None:
    client = in_process()
    client.begin(**MATMUL, stopOnEntry=True)
    client.stopped()
    client.evaluate("goto 0 99999", "repl")
    assert client.stopped()["reason"] == "step"
    assert "tile block 0 has" in client.output("stderr")
    assert client.step("next")["reason"] == "step"
    client.request("disconnect")
    client.close()
