"""Variables of a script have, at every line, the value that Python gives them.

Each kernel of `variable_kernels` runs twice: under the debugger, line by line, and in plain Python over NumPy, traced.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy
import pytest
from tests.serve.debugger import numpy_tile
from tests.serve.debugger.client import RequestFailed, over_stdio
from tests.serve.debugger.test_scripts import environment

import tileir
from tileir.bridge.launch import export
from tileir.serve.debugger.expressions import BadExpression
from tileir.serve.debugger.session import Debugger

pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
kernels = pytest.importorskip("tests.serve.debugger.variable_kernels")

PATH = Path(__file__).with_name("variable_kernels.py")
SOURCE = PATH.read_text()
BLOCK = 1
UNASSIGNED, REMOVED = object(), object()
OPTIMIZED_AWAY = {
    # A product that is added to something: the compiler fuses both.
    "nested": {"last"},
    "helper": {"mn"},
    "nested_helpers": {"t"},
    "constant_parameter": {"t"},
    "unrolled": {"acc"},
    "invariant": {"moved"},
    "closure": {"t"},
    # Nothing uses the other one.
    "dropped": {"product", "unused"},
}
"""The variables of each kernel that have no value at some line, as the compiler removed it."""


def name_of(kernel: Any) -> str:
    return str(kernel._annotated_function.pyfunc.__name__)


def arguments() -> tuple[Any, ...]:
    return (numpy.arange(64) % 23).astype(numpy.float32), numpy.zeros(64, numpy.float32), 3, 1.5


class Event:
    """A line of a function that is next, and the variables of the function before it."""

    def __init__(self, function: str, line: int, variables: dict[str, Any], call: object = None) -> None:
        self.function = function
        self.line = line
        self.variables = variables
        self.call = call
        """The frame of the call, where it is known."""

    @property
    def key(self) -> tuple[str, int]:
        return self.function, self.line


def plain_python() -> dict[str, Any]:
    """The kernels as functions of Python over NumPy."""
    text = SOURCE.replace("import cuda.tile as ct", "from tests.serve.debugger import numpy_tile as ct")
    found: dict[str, Any] = {"__name__": "plain_kernels"}
    exec(compile(text, str(PATH), "exec"), found)
    return found


def copied(value: Any) -> Any:
    return value.copy() if isinstance(value, numpy.ndarray) else value


def traced(name: str) -> tuple[list[Event], Any]:
    """The lines that Python executes of a kernel, and what it writes."""
    function = plain_python()[name]
    events: list[Event] = []

    def trace(frame: FrameType, kind: str, _: Any) -> Any:
        if frame.f_code.co_filename != str(PATH) or frame.f_code.co_name.startswith("<"):
            return None
        if kind == "line":
            kept = {key: copied(one) for key, one in frame.f_locals.items()}
            events.append(Event(frame.f_code.co_name, frame.f_lineno, kept, frame))
        return trace

    args = arguments()
    for block in range(BLOCK):
        numpy_tile.run(function, block, args)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        numpy_tile.run(function, BLOCK, args)
    finally:
        sys.settrace(before)
    return events, args[1]


def debugged(kernel: Any, names: dict[str, set[str]]) -> tuple[list[Event], Any]:
    """The lines at which the debugger stops in a tile block, and what variables are there, by function."""
    args = arguments()
    debugger = Debugger(kernel, 2, args)
    debugger.start()
    debugger.select_block(BLOCK)
    found: list[Event] = []
    while debugger.step("into").reason != "end":
        assert debugger.location is not None
        function = function_at(debugger.location.line)
        variables = {name: evaluated(debugger, name) for name in names[function]}
        shown = {name: value for name, value in variables.items() if value is not UNASSIGNED}
        found.append(Event(function, debugger.location.line, shown))
    return found, args[1]


def evaluated(debugger: Debugger, name: str) -> Any:
    try:
        result = debugger.evaluate(name)
    except BadExpression as error:
        if error.message == f"variable {name} is optimized away":
            return REMOVED
        assert error.message in (f"variable {name} is not assigned yet", f"there is no value {name} here"), (
            error.message
        )
        return UNASSIGNED
    return result.text if result.value is None else result.value


@cache
def function_at(line: int) -> str:
    """The innermost function that a line is in."""
    around = [
        node
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno).name


@cache
def bodies_of_loops() -> dict[int, range]:
    """For the line of each loop that evaluates nothing in each iteration the lines of its body."""
    return {
        node.lineno: range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(ast.parse(SOURCE))
        if (isinstance(node, ast.For) and "static_iter" not in ast.unparse(node.iter))
        or (isinstance(node, ast.While) and isinstance(node.test, ast.Constant))
    }


def entries(events: list[Event]) -> list[Event]:
    """Without the lines of loops where these go on: the debugger stops where such a loop begins."""
    bodies, found = bodies_of_loops(), []
    last: dict[object, int] = {}
    for event in events:
        is_entry = last.get(event.call, 0) not in bodies.get(event.line, ())
        last[event.call] = event.line
        if is_entry:
            found.append(event)
    return found


def same(shown: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return len(shown) == len(expected) and all(same(one, other) for one, other in zip(shown, expected, strict=True))
    if isinstance(expected, (int, float, numpy.ndarray, numpy.generic)):
        if isinstance(shown, (int, float, numpy.ndarray, numpy.generic)):
            return numpy.shape(shown) == numpy.shape(expected) and numpy.allclose(shown, expected)
        return str(shown) == "<optimized away>"
    # What has no numbers is described.
    return isinstance(shown, str) and (
        (expected is not None and not isinstance(expected, str)) or shown == repr(expected)
    )


def differences(shown: Event, expected: Event) -> list[str]:
    """What the debugger shows wrongly; that something is optimized away is never wrong."""
    found: list[str] = []
    for name in sorted({*shown.variables, *expected.variables}):
        value, wanted = shown.variables.get(name, UNASSIGNED), expected.variables.get(name, UNASSIGNED)
        if value is REMOVED:
            continue
        if value is UNASSIGNED or wanted is UNASSIGNED or not same(value, wanted):
            found.append(f"line {shown.line}: {name} is {wanted}, and the debugger says {value}")
    return found


def aligned(stops: list[Event], events: list[Event]) -> list[int | None]:
    """For each stop the event that it is, by line; None where a line was moved or copied by the compiler."""
    by_line: dict[tuple[str, int], list[int]] = {}
    for number, event in enumerate(events):
        by_line.setdefault(event.key, []).append(number)
    counts = Counter([stop.key for stop in stops])
    seen: Counter[tuple[str, int]] = Counter()
    found: list[int | None] = []
    for stop in stops:
        known = by_line.get(stop.key, [])
        found.append(known[seen[stop.key]] if counts[stop.key] == len(known) else None)
        seen[stop.key] += 1
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kernel", kernels.KERNELS, ids=name_of)
def test_variables_are_those_of_python_at_every_line(kernel: Any) -> None:
    events, expected = traced(name_of(kernel))
    names: dict[str, set[str]] = {}
    for event in events:
        names.setdefault(event.function, set()).update(event.variables)
    stops, written = debugged(kernel, names)
    assert numpy.allclose(written[8 * BLOCK : 8 * BLOCK + 8], expected[8 * BLOCK : 8 * BLOCK + 8])
    events = entries(events)
    places = aligned(stops, events)
    assert sum([place is not None for place in places]) >= 3
    removed = {name for stop in stops for name, value in stop.variables.items() if value is REMOVED}
    assert removed == OPTIMIZED_AWAY.get(name_of(kernel), set())
    last = 0
    for number, (stop, place) in enumerate(zip(stops, places, strict=True)):
        if place is not None:
            assert place >= last, f"line {stop.line} is out of order"
            last = place
            assert not differences(stop, events[place]), stop.line
            continue
        # A line that was moved shows a state that Python has between the lines that were not.
        following = next((one for one in places[number:] if one is not None), len(events) - 1)
        between = [event for event in events[last : following + 1] if event.function == stop.function]
        found = [differences(stop, event) for event in between]
        assert not all(found), found


def test_bytecode_of_a_script_names_only_what_is_assigned_once(tmp_path: Path) -> None:
    path = tmp_path / "kernel.tileirbc"
    path.write_bytes(export(kernels.online_maximum, arguments()))
    x, out, n, scale = arguments()
    debugger = Debugger(str(path), 1, (x, 64, 1, out, 64, 1, n, numpy.float32(scale)))
    debugger.breakpoints.add("line", str(PATH), line_of("mn = ct.maximum(m, t)"))
    debugger.start(stop_on_entry=False)
    debugger.resume()
    assert debugger.lines.kind == "script"
    assert (debugger.evaluate("t").value == x[8:16]).all() and (debugger.evaluate("mn").value == x[:8]).all()
    # A loop carries these, and bytecode does not tell what it calls them.
    for name in ("m", "total"):
        with pytest.raises(BadExpression, match="there is no value"):
            debugger.evaluate(name)


def line_of(text: str) -> int:
    return [line.strip() for line in SOURCE.splitlines()].index(text) + 1


def test_unknown_compiler_costs_the_variables_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuda import tile
    from cuda.tile._passes import hir2ir

    # Another kernel, of which nothing is known yet.
    debugger = Debugger(tile.kernel(kernels.straight._annotated_function.pyfunc), 1, arguments())
    monkeypatch.delattr(hir2ir, "retarget_loc")
    debugger.start()
    with pytest.warns(RuntimeWarning, match="the variables of straight are unknown"):
        assert not debugger.functions()
    debugger.breakpoints.add("line", str(PATH), line_of("c = b * scale"))
    debugger.resume()
    assert (debugger.evaluate("b").value == arguments()[0][:8] + 1).all()


ATTENTION = """\
import sys
sys.modules["torch"] = None  # which cuTile imports where it can
import cuda.tile as ct
import numpy

@ct.kernel
def attention(q, out, TM: ct.Constant[int], scale: float):
    m = ct.full((TM,), -100.0, ct.float32)
    for k in range(3):
        t = ct.load(q, (k,), (TM,)) * scale
        mn = ct.maximum(m, t)
        m = mn
    ct.store(out, (0,), m)

q, out = (numpy.arange(24) % 10).astype("f4"), numpy.zeros(8, "f4")
ct.launch(None, (1,), attention, (q, out, 8, 0.5))
"""


def test_terminal_shows_parameters_and_variables(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*commands: str) -> list[str]:
        tileir.debug(kernels.online_maximum, 1, arguments(), commands=[*commands, "detach"])
        return capsys.readouterr().out.splitlines()

    line = line_of("mn = ct.maximum(m, t)")
    first = said("info args", "info locals", "p scale * n", "p m")
    assert [word for word in first if word.startswith(("x: ", "out: ", "n ", "scale "))] == [
        "x: 64xf32 = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, ..]  min 0, max 22, mean 10.2969",
        "out: 64xf32 = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ..]  min 0, max 0, mean 0",
        "n = 3",
        "scale = 1.5",
    ]
    assert {"No variables are assigned yet.", "$1 = 4.5", "Variable m is not assigned yet."} <= set(first)
    found = said(f"break {line} if m[0] > 1 and k == 2 and n == 3", "continue", "p x[k * 8 + 1]", "info locals")
    assert "$1 = 17.0" in found
    names = [word.partition(" = ")[0] for word in found[found.index("$1 = 17.0") + 1 :] if " = " in word]
    assert names == ["m", "total", "k", "t", "mn"]
    assert any(word.startswith('("info expressions" lists ') for word in found)
    back = said(f"break {line}", "continue", "continue", "reverse-next", "reverse-next", "p k", "p m[1]", "p t[1]")
    assert back[-3:] == ["$1 = 0", "$2 = -100.0", "$3 = 1.0"]


def test_terminal_says_why_a_variable_has_no_value(capsys: pytest.CaptureFixture[str]) -> None:
    line = line_of("acc = acc + product")
    commands = [f"break {line}", "continue", "p product", "whatis product", "info locals", "whatis acc", "detach"]
    tileir.debug(kernels.dropped, 1, arguments(), commands=commands)
    said = capsys.readouterr().out.splitlines()
    assert said.count("Variable product is optimized away.") == 2
    assert "product = <optimized away>" in said and said[-1] == "type = tile<8xf32>"


def test_editor_has_arguments_locals_and_expressions(tmp_path: Path) -> None:
    script = tmp_path / "attention.py"
    script.write_text(ATTENTION)
    client = over_stdio(env=environment())

    def configure() -> None:
        line = {"line": 11, "condition": "k == 1 and TM == 8 and m.max() < 9"}
        client.request("setBreakpoints", source={"path": str(script)}, breakpoints=[line])

    client.begin(configure, program=str(script))
    assert client.stopped()["reason"] == "breakpoint"
    scopes = client.request("scopes", frameId=client.top()["id"])["scopes"]
    assert [scope["name"] for scope in scopes][:3] == ["Arguments", "Locals", "Expressions"]
    shown = {one["name"]: (one["value"].partition("  ")[0], one.get("type")) for one in client.scope("Arguments")}
    assert shown["TM"] == ("8", "int") and shown["scale"] == ("0.5", "tile<f32>")
    assert shown["q"] == ("[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, ..]", "24xf32")
    locals = {one["name"]: one["value"].partition("  ")[0] for one in client.scope("Locals")}
    assert list(locals) == ["m", "k", "t", "mn"]
    assert locals["m"] == locals["mn"] == "[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, ..]"
    assert all("ct." in one["name"] for one in client.scope("Expressions"))
    for context in ("watch", "hover", "repl"):
        assert client.evaluate("TM", context)["result"] == "8"
        assert client.evaluate("m.sum() * scale + TM", context)["result"] == "15.0"
    assert client.request("dataBreakpointInfo", name="m")["dataId"] == "m"
    client.step("stepBack")
    client.step("stepBack")
    assert client.evaluate("k")["result"] == "0"
    with pytest.raises(RequestFailed, match="not assigned yet"):
        client.step("stepBack")
        client.evaluate("mn")
    client.request("disconnect")
    client.close()


def test_watched_variable_stops_where_it_is_assigned() -> None:
    debugger = Debugger(kernels.online_maximum, 1, arguments())
    debugger.start()
    assert debugger.breakpoints.add("data", "m").is_verified
    assert not debugger.breakpoints.add("data", "nothing").is_verified
    seen = []
    while debugger.resume().reason == "data":
        assert debugger.location is not None
        seen.append((debugger.location.line, float(debugger.evaluate("m").value[1])))
    load = line_of("t = ct.load(x, (k,), (8,))")
    # The first line behind the one that assigns it.
    assert seen == [(load - 2, -100.0), (load, 1.0), (load, 9.0), (load + 4, 17.0)]


def test_operand_that_was_moved_is_no_other_expression() -> None:
    debugger = Debugger(kernels.reshaped, 1, arguments())
    debugger.breakpoints.add("line", str(PATH), line_of("acc = ct.maximum(acc, t)"))
    debugger.start(stop_on_entry=False)
    shown = {one.name: one.value for one in debugger.values()}
    x = arguments()[0][:8]
    assert list(shown) == ["ct.load(x, (k,), (8,))", "ct.load(x, (k,), (8,)).reshape((2, 4))"]
    assert all((numpy.ravel(value) == x).all() for value in shown.values())
