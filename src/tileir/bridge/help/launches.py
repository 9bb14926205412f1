"""Errors of launches: grids, arguments, decorators.

Most of them are errors of Python or of the library at the line of the script that launches.
"""

from __future__ import annotations

import re
import traceback
from typing import Final

from tileir.bridge.frames import is_script_frame
from tileir.bridge.help.source import Changes, Place, anywhere, first_of, here, next_power_of_two
from tileir.bridge.help.table import Mistake, help_for
from tileir.ir.diagnostics import TileIRError


def _decorated(decorator: str) -> Mistake:
    """A launch of a function that is no kernel yet."""

    def change(place: Place) -> Changes:
        launched = re.search(r"(\w+)\[|launch\([^()]*(?:\([^()]*(?:\([^()]*\))?[^()]*\))?[^()]*, (\w+), \(", place.line)
        name = (launched[1] or launched[2]) if launched else ""
        for number, line in enumerate(place.lines, 1):
            if name and re.match(rf"def {name}\(", line):
                return {number: f"{decorator}\n{line}"} if place.text(number - 1).strip() else {number - 1: decorator}
        return {}

    return Mistake("", f"a kernel is declared with `{decorator}`, which compiles it", change)


_JIT: Final = _decorated("@triton.jit")
_KERNEL: Final = _decorated("@ct.kernel")


def _on_gpu(place: Place) -> Changes:
    """Allocate the argument of this parameter on the GPU."""
    definition = next((line for line in place.lines if re.search(rf"def \w+\(.*\b{place.found[1]}\b", line)), "")
    names = re.findall(r"(\w+)\s*(?::[^,]*)?(?:,|\)\s*:)", definition.partition("(")[2])
    called = re.search(r"\]\((.*)\)\s*$", place.line) or re.search(r", \(([^()]*)\)\)\s*$", place.line)
    words = [word.strip() for word in called[1].split(",")] if called else []
    if place.found[1] not in names or names.index(place.found[1]) >= len(words):
        return {}
    argument = words[names.index(place.found[1])]
    return anywhere(rf"^(\s*(?:.*, )?{argument} = torch\.\w+\(.*)\)$", r'\1, device="cuda")')(place)


def _constant(place: Place) -> Changes:
    """Pass a constant that the launch lacks, or that it calls otherwise."""
    name = place.found[1]
    definition = next((line for line in place.lines if re.search(rf"\b{name}: ?tl\.constexpr", line)), "")
    if not definition:
        return {}
    known = re.findall(r"(\w+)\s*:\s*tl\.constexpr", definition)
    for keyword in re.findall(r"(\w+) ?=(?!=)", place.line):
        if keyword not in known and (keyword.startswith(name) or name.startswith(keyword)):
            return here(rf"\b{keyword} ?=", f"{name}=")(place)
    return here(r"\)\s*$", f", {name}=128)")(place)


def _short_grid(place: Place) -> Changes:
    """A grid without axes of one tile block."""
    grids = [number for number, line in enumerate(place.lines, 1) if re.match(r"\s*grid\b.*=", line)]
    for number in (place.number, *grids):
        found = re.search(r"(?:launch\([^,]*, ?|= ?)(\((?:[^()]|\([^()]*\))*\))", place.text(number))
        words = re.findall(r"(?:[^(),]|\([^()]*\))+", found[1][1:-1]) if found else []
        kept = [word.strip() for word in words if word.strip() not in ("", "1")]
        if found and 1 <= len(kept) <= 3 < len(words):
            grid = f"({', '.join(kept)}{',' if len(kept) == 1 else ''})"
            return {number: place.text(number).replace(found[1], grid)}
    return {}


_GRID: Final = "a grid is a tuple of one to three extents"

LAUNCHES: Final = (
    Mistake(
        r"'kernel' object is not subscriptable",
        "cuTile launches kernels by ct.launch(stream, grid, kernel, arguments)",
        here(r"(\w+)\[(.*)\]\((.*)\)\s*$", r"ct.launch(None, \2, \1, (\3))"),
    ),
    Mistake(
        r"Tile kernels cannot be called directly",
        "cuTile launches kernels by ct.launch(stream, grid, kernel, arguments), and the grid covers the output",
        here(r"^(\s*)(\w+)\((.*)\)\s*$", r"\1ct.launch(None, grid, \2, (\3))"),
    ),
    Mistake(r"'function' object is not subscriptable", _JIT.help, _JIT.correction),
    Mistake(r"a function cannot be launched as a cuTile kernel", _KERNEL.help, _KERNEL.correction),
    Mistake(
        r"Cannot call @triton\.jit'd outside of the scope of a kernel",
        "a launch names its grid in brackets, as in kernel[grid](..)",
        here(r"\b(\w+)\(", r"\1[grid]("),
    ),
    Mistake(
        r"a grid is a tuple, but an int was given",
        _GRID,
        here(r"launch\((\w+(?:\.\w+)*(?:\(\))?), ((?:[^(),]|\([^()]*\))+),", r"launch(\1, (\2,),"),
    ),
    Mistake(
        r"object of type 'int' has no len\(\)",
        _GRID,
        first_of(anywhere(r"^(\s*grid = lambda \w+: )(?!\()(.+)$", r"\1(\2,)"), here(r"\[(\w+)\]\(", r"[(\1,)](")),
    ),
    Mistake(
        r"a grid is one to three extents",
        "a grid has at most three axes: multiply extents into one, and divide ct.bid in the kernel; drop those of 1",
        _short_grid,
    ),
    Mistake(
        r"takes 5 positional arguments but (?:[6-9]|\d\d) were given",
        "the arguments of the kernel are one tuple",
        here(r"(ct\.launch\(.*\), ?\w+, ?)([^()]*)\)\s*$", r"\1(\2))"),
    ),
    Mistake(
        r"is None, which no kernel can take",
        "a kernel takes no None: pass a number without effect, or an array and a flag `has_bias: ct.Constant[bool]`",
        here(r"\bNone\b(?=[^()]*\)+\s*$)", "0.0"),
    ),
    Mistake(
        r"a list is a list of arrays|failed to specialize argument of type: list",
        "kernels take arrays, not lists of numbers",
        here(r"\.tolist\(\)", ""),
    ),
    Mistake(
        r"argument '(\w+)' is a tensor of the CPU",
        "tensors of a launch are on the GPU: allocate it there",
        _on_gpu,
    ),
    Mistake(
        r"num_warps must be a power of 2",
        "the number of warps is a power of two",
        here(r"num_warps ?= ?(\d+)", lambda found: f"num_warps={next_power_of_two(found[1])}"),
    ),
    Mistake(r"missing 1 required positional argument: '(\w+)'", "the kernel has a parameter `{1}`", _constant),
    Mistake(
        r"Unsupported function referenced: <[\w -]*? (\w+) (?:of|at) ",
        "functions of torch and NumPy do not compute with tensors of Triton: use those of triton.language",
        anywhere(r"\b(?:torch|np|numpy|F|math)\.<1>\(", "tl.<1>("),
    ),
)


def launch_help(error: BaseException) -> str:
    """The help for an error that ends a script, at the last line of the script on the way to it."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if is_script_frame(frame)]
    found = help_for(str(error), frames[-1][0].f_code.co_filename, frames[-1][1], LAUNCHES) if frames else ""
    # The messages of tileir explain the change; what is new is the line.
    return found if "\n" in found or not isinstance(error, TileIRError) else ""
