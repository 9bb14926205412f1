"""The rule of a grid, read from a script where it launches a kernel."""

from __future__ import annotations

import pytest

from tileir.execute.arguments.argument_text import LaunchDescription
from tileir.proofs.contract.launch_rules import RecordedLaunch, ScriptKernel, parameter_names

CUTILE = """
import cuda.tile as ct
import math
TILE = 128

@ct.kernel
def scale(x, factor, out, SIZE: ct.Constant[int]):
    pass

def main(n: int) -> None:
{body}
"""
NAMES = ["x", "", "", "", "out", "", ""]


def recorded(count: int, blocks: int) -> RecordedLaunch:
    array = f"zeros:f32:{count}"
    arguments = (array, str(count), "1", "2.0", array, str(count), "1")
    return RecordedLaunch(LaunchDescription((blocks, 1, 1), arguments, "scale"), NAMES)


def rule(body: str, *launches: RecordedLaunch) -> list[str] | None:
    text = CUTILE.format(body="\n".join([f"    {line}" for line in body.splitlines()]))
    return ScriptKernel(text, "scale", launches or [recorded(1000, 8)]).grid()


LAUNCH = "ct.launch(stream, grid, scale, (x, 2.0, out, TILE))"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"grid = (ct.cdiv(x.shape[0], TILE),)\n{LAUNCH}", "cdiv(x.shape[0], 128)"),
        (f"grid = (ct.cdiv(out.numel(), TILE), 1, 1)\n{LAUNCH}", "cdiv(out.shape[0], 128)"),
        (f"grid = (math.ceil(len(x) / TILE),)\n{LAUNCH}", "cdiv(x.shape[0], 128)"),
        (f"size = x.size\ngrid = ((size + TILE - 1) // TILE,)\n{LAUNCH}", "(x.shape[0] + 128 - 1) // 128"),
        (
            f"(size,) = x.shape\ngrid = -1, 1\n{LAUNCH.replace('grid', '(ct.cdiv(size, 128),)')}",
            "cdiv(x.shape[0], 128)",
        ),
        (f"x = torch.rand(n, device='cuda')\ngrid = (ct.cdiv(n, TILE),)\n{LAUNCH}", "cdiv(x.shape[0], 128)"),
        (f"x = numpy.zeros((n,), 'f4')\ngrid = ct.cdiv(n, TILE)\n{LAUNCH}", "cdiv(x.shape[0], 128)"),
        ("tileir.launch(scale, ct.cdiv(len(x), TILE), (x, 2.0, out, TILE))", "cdiv(x.shape[0], 128)"),
    ],
)
def test_a_rule_is_followed_to_parameters(body: str, expected: str) -> None:
    found = rule(body)
    assert found is not None and found[0] == expected


@pytest.mark.parametrize(
    "body",
    [
        f"grid = (8,)\n{LAUNCH}",
        f"grid = (n,)\n{LAUNCH}",
        f"grid = (ct.cdiv(x.shape[0], TILE),)\ngrid = (9,)\n{LAUNCH}",
        f"size = x.shape[0]\nsize += 1\ngrid = (ct.cdiv(size, TILE),)\n{LAUNCH}",
        f"grid = (x.shape[0] // TILE,)\n{LAUNCH}",
        f"grid = (ct.cdiv(x.shape[0], TILE),)\n{LAUNCH}\nct.launch(stream, (8, 1), scale, (x, 2.0, out, TILE))",
        "ct.launch(*launch)",
        "pass",
        "grid = (",
    ],
)
def test_what_is_no_rule(body: str) -> None:
    assert rule(body) is None


def test_a_rule_holds_for_each_recorded_launch() -> None:
    body = f"grid = (ct.cdiv(x.shape[0], TILE),)\n{LAUNCH}"
    assert rule(body, recorded(1000, 8), recorded(129, 2)) == ["cdiv(x.shape[0], 128)"]
    assert rule(body, recorded(1000, 8), recorded(129, 1)) is None


def test_a_triton_kernel_is_given_no_extents() -> None:
    text = """
@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    pass

def main(x):
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, 128),)
    scale[grid](x, n, BLOCK=128)
"""
    launch = RecordedLaunch(LaunchDescription((8, 1, 1), ("zeros:f32:1000", "1000"), "scale"), ["x", ""])
    kernel = ScriptKernel(text, "scale", [launch])
    assert kernel.names == ["x", "n"]
    assert kernel.grid() == ["cdiv(n, 128)"]


def test_parameters_have_the_names_of_the_script() -> None:
    text = CUTILE.format(body="    pass")
    expected = ["x", "x.shape[0]", "x.strides[0]", "factor", "out", "out.shape[0]", "out.strides[0]"]
    assert ScriptKernel(text, "scale", [recorded(1000, 8)]).names == expected
    # Of a kernel that the script does not define, or that was compiled in another way.
    assert ScriptKernel("pass", "scale", [recorded(1000, 8)]).names[:2] == ["x", "arg1"]
    assert parameter_names([("x", 2), None, None], has_extents=True) == ["arg0", "arg1", "arg2"]
