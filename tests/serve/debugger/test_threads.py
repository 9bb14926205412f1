"""Tile blocks that take turns are threads, each with a stack and values of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serve.debugger.client import Client, in_process

from tileir.tools.cutile import debug

COUNTING = """cuda_tile.module @m {
  entry @k(%x: tile<ptr<i32>>) {
    %b, %by, %bz = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %three = constant <i32: 3> : tile<i32>
    %at = offset %x, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    for %i in (%zero to %three, step %one) : tile<i32> {
      %v, %t = load_ptr_tko weak %at : tile<ptr<i32>> -> tile<i32>, token
      %w = addi %v, %b : tile<i32>
      %u = store_ptr_tko weak %at, %w token = %t : tile<ptr<i32>>, tile<i32> -> token
    }
    return
  }
}
"""


@pytest.fixture
def client() -> Iterator[Client]:
    client = in_process()
    client.initialize()
    yield client
    client.close()


@pytest.fixture
def program(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "k.mlir"
    path.write_text(COUNTING)
    return {"program": str(path), "grid": "3", "args": ["zeros:i32:3"]}


def test_threads_have_stacks_of_their_own(client: Client, program: dict[str, Any]) -> None:
    def configure() -> None:
        wanted = [{"line": 10, "condition": "i == 1 and b == 1"}]
        client.request("setBreakpoints", source={"path": program["program"]}, breakpoints=wanted)

    client.begin(configure, **program, schedule="interleaved")
    assert client.stopped()["threadId"] == 2
    threads = client.request("threads")["threads"]
    assert [one["id"] for one in threads] == [2, 1, 3]
    assert [one["name"] for one in threads] == [f"tile block ({number}, 0, 0)" for number in (1, 0, 2)]
    lines: dict[int, int] = {}
    for thread in (1, 2, 3):
        frames = client.request("stackTrace", threadId=thread)["stackFrames"]
        assert frames[-1]["name"] == f"k ({thread - 1}, 0, 0)" and frames[0]["name"].startswith("for %i = ")
        lines[thread] = frames[0]["line"]
        kernel = {one["name"]: one["value"] for one in client.scope("Values of the kernel", frames[0]["id"])}
        assert kernel["%b"] == str(thread - 1)
        for expression in ("b", "b + 0"):
            found = client.request("evaluate", expression=expression, frameId=frames[0]["id"], context="watch")
            assert found["result"] == str(thread - 1)
    # The first has had its turn before this one: it is about to store.  The third has not loaded yet.
    assert lines == {1: 11, 2: 10, 3: 9}
    # Stepped is the thread that is asked for.
    client.request("next", threadId=3)
    assert client.stopped()["threadId"] == 3 and client.top()["line"] == 10


def test_one_thread_where_tile_blocks_come_one_after_the_other(client: Client, program: dict[str, Any]) -> None:
    client.begin(**program, stopOnEntry=True)
    client.stopped()
    client.step("next")
    assert [one["id"] for one in client.request("threads")["threads"]] == [1]


def test_blocks_under_way_are_listed_and_gone_to(program: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    commands = ["break 10 block 1 if i == 1", "run", "info blocks", "thread 2", "p b", "p i"]
    options = [word for one in commands for word in ("-ex", one)]
    arguments = ["--grid", "3", "--arg", "zeros:i32:3", "--schedule", "interleaved"]
    assert debug.run([program["program"], *arguments, "--batch", *options]) == 0
    out = capsys.readouterr().out
    assert "* 1     (1, 0, 0)  step 11 of " in out and "  2     (2, 0, 0)  step 10 of " in out
    assert out.endswith("$1 = 2\n$2 = 1\n")
