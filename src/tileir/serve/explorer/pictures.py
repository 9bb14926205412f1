"""Pictures of a recorded launch without a browser, as SVG: for documents, notebooks and `tileir explore --picture`."""

from __future__ import annotations

from itertools import cycle, pairwise
from math import ceil, prod
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import numpy

from tileir.cpp.demangling import source_name
from tileir.execute.dtypes import Array
from tileir.execute.errors import BlockId, ChoiceError, LaunchError
from tileir.execute.recording.recording import Recording
from tileir.execute.schedule import block_at
from tileir.serve.explorer.memory_cells import Cells, MemoryCells

COLORS: Final = ("block", "first block", "time", "first time", "count")
"""What pictures are colored by: the last or first tile block to touch an element, when that was, how often."""


def _palette(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple([tuple(bytes.fromhex(one)) for one in text.split()])


# As `assets/palette.js` has them; a test compares.
AMOUNTS: Final = _palette("440154 482878 3e4a89 31688e 26828e 1f9e89 35b779 6dcd59 b4de2c fde725")
THINGS: Final = _palette("0072b2 e69f00 009e73 cc79a7 56b4e9 d55e00 f0e442 6e6e6e")

_WIDTH: Final = 640
_HEIGHT: Final = 480
_CELLS: Final = 256
_LEFT: Final = 64
_TOP: Final = 44
_EMPTY: Final = (234, 238, 242)
_CONFLICT: Final = "#b3151f"
# Cells of fewer pixels are hatched together instead of crossed.
_CROSSED: Final = 5

_Legend = list[tuple[int, str]]
"""Colors as numbers, with what they mean."""


def memory_picture(recording: Recording, array: int | str, color: str = "block") -> str:
    """An array of a recorded launch as SVG: who touched each element, when, or how often.

    `array` is a number or a name, `color` one of `COLORS`.  Of an array with more than two dimensions the first slice
    is drawn.  Arrays of one dimension are folded into rows, large ones are binned; the picture states this.  Elements
    that several tile blocks touch, one of them writing, are crossed.
    """
    if color not in COLORS:
        raise ChoiceError(f"pictures are colored by one of {', '.join(COLORS)}, and not by '{color}'")
    chosen = next((one for one in recording.arrays if array in (one.number, one.name)), None)
    if chosen is None:
        known = ", ".join([one.name for one in recording.arrays]) or "none"
        raise LaunchError(f"the launch has no array '{array}': it has {known}")
    memory = MemoryCells(recording, chosen)
    place = (0,) * len(memory.slices)
    bins = _bin(memory.rows), _bin(memory.columns)
    cells = memory.cells(place, *bins)
    most = float(cells.count.max(initial=0)) if color == "count" else float(len(recording.accesses))
    name = f"{chosen.name} ({chosen.element.spelling}, {' x '.join(map(str, chosen.shape)) or 'scalar'})"
    title, words = f"{source_name(recording.program.entry.symbol_name or '')}: {name}", _words(memory, place, bins)
    codes = _codes(_pixels(recording, cells, color, most))
    return _svg(memory, cells, codes, bins, title, words, _legend(recording, color, most))


def _bin(extent: int) -> int:
    """Powers of two, as tiles have: a bin then seldom has parts of two tiles."""
    size = 1
    while ceil(extent / size) > _CELLS:
        size *= 2
    return size


def amount_color(amounts: Array) -> Array:
    """The colors of amounts from 0 to 1."""
    places = numpy.clip(amounts, 0, 1) * (len(AMOUNTS) - 1)
    low = numpy.minimum(places.astype(numpy.int64), len(AMOUNTS) - 2)
    stops = numpy.array(AMOUNTS, numpy.float64)
    part = (places - low)[..., None]
    found: Array = numpy.floor(stops[low] * (1 - part) + stops[low + 1] * part + 0.5).astype(numpy.uint8)
    return found


def block_color(blocks: Array, grid: BlockId) -> Array:
    """The colors of tile blocks.

    A few blocks have colors of their own; many are on the scale of amounts, by number, and every second one is paler,
    so that neighbors in every direction of the grid differ.
    """
    count = prod(grid)
    if count <= len(THINGS):
        own: Array = numpy.array(THINGS, numpy.uint8)[blocks]
        return own
    x, y, z = blocks % grid[0], blocks // grid[0] % grid[1], blocks // (grid[0] * grid[1])
    colors = amount_color(blocks / (count - 1))
    pale = ((3 * colors.astype(numpy.int64) + 512) // 5).astype(numpy.uint8)
    found: Array = numpy.where(((x + y + z) % 2 == 1)[..., None], pale, colors)
    return found


def _pixels(recording: Recording, cells: Cells, color: str, most: float) -> Array:
    """The color of each cell; `most` is the largest amount, or the number of accesses."""
    rows = cells.first if color.startswith("first") else cells.last
    touched = cells.count > 0 if color == "count" else rows >= 0
    if color == "count":
        colors = amount_color(cells.count / (most or 1.0))
    elif color.endswith("time"):
        colors = amount_color(rows / max(1.0, most - 1))
    else:
        blocks = recording.accesses.block if len(recording.accesses) else numpy.zeros(1, numpy.int32)
        colors = block_color(blocks[numpy.maximum(rows, 0)].astype(numpy.int64), recording.grid)
    found: Array = numpy.where(touched[..., None], colors, numpy.array(_EMPTY, numpy.uint8))
    return found


def _words(memory: MemoryCells, place: tuple[int, ...], bins: tuple[int, int]) -> str:
    words = []
    if place:
        words.append(f"slice [{', '.join(map(str, place))}, :, :]")
    if memory.fold and memory.rows > 1:
        words.append(f"folded into rows of {memory.fold:,}")
    if bins != (1, 1):
        words.append(f"a cell is {bins[0]:,} x {bins[1]:,} elements")
    words.append(f"{memory.accesses:,} access{'es' if memory.accesses != 1 else ''}")
    if memory.outside:
        words.append(f"{memory.outside:,} out of bounds")
    if memory.conflicts:
        words.append(
            f"{memory.conflicts:,} element{'s' if memory.conflicts != 1 else ''} "
            "that several tile blocks touch, one of them writing"
        )
    return "; ".join(words)


def _legend(recording: Recording, color: str, most: float) -> _Legend:
    grid = recording.grid
    blocks = prod(grid)
    if color.endswith("block") and blocks <= len(THINGS):
        colors = _codes(block_color(numpy.arange(blocks), grid)).tolist()
        return [(colors[one], _block_name(one, grid)) for one in range(blocks)]
    first, last = ("0", f"{most:,.3g} accesses") if color == "count" else ("first access", f"last of {most:,.0f}")
    if color.endswith("block"):
        first, last = _block_name(0, grid), f"{_block_name(blocks - 1, grid)}, every second tile block paler"
    colors = _codes(amount_color(numpy.linspace(0, 1, 16))).tolist()
    return list(zip(colors, [first, *[""] * 14, last], strict=True))


def _block_name(block: int, grid: BlockId) -> str:
    dimensions = 3 if grid[2] > 1 else 2 if grid[1] > 1 else 1
    return f"({', '.join(map(str, block_at(block, grid)[:dimensions]))})"


def _codes(colors: Array) -> Array:
    """Red, green and blue as one number."""
    found: Array = colors.astype(numpy.int64) @ numpy.array([1 << 16, 1 << 8, 1])
    return found


def _svg(
    memory: MemoryCells, cells: Cells, codes: Array, bins: tuple[int, int], title: str, words: str, legend: _Legend
) -> str:
    """Cells, axes, crosses and words."""
    across = min(_WIDTH / max(memory.columns, 1), 48.0)
    room = _HEIGHT / max(memory.rows, 1)
    # Few long rows would be a line.
    down = max(min(across, room), min(24.0, room, 160 / max(memory.rows, 1)))
    right, bottom = _LEFT + across * memory.columns, _TOP + down * memory.rows
    width, height = max(int(right) + 16, 420), int(bottom) + 56
    look = 'font-size="11" fill="#57606a"'
    drawn = []
    for row, column, rows, columns, code in _rectangles(numpy.where(cells.present, codes, -1)):
        x, y = _LEFT + column * bins[1] * across, _TOP + row * bins[0] * down
        # Bins at the edge reach beyond the array.
        wide, high = min(columns * bins[1] * across, right - x), min(rows * bins[0] * down, bottom - y)
        drawn.append(f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" fill="#{code:06x}"/>')
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label={quoteattr(f"{title}; {words}")} font-family="sans-serif">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="18" font-size="14" font-weight="bold" fill="#1b1f24">{escape(title)}</text>',
        '<g shape-rendering="crispEdges">',
        *drawn,
        "</g>",
        *_crosses(cells.conflicts, bins[1] * across, bins[0] * down),
    ]
    for row in _round(memory.rows, down, 18):
        y = _TOP + (row + 0.5) * down + 4
        parts.append(f'<text x="{_LEFT - 6}" y="{y:g}" text-anchor="end" {look}>{row * (memory.fold or 1)}</text>')
    for column in _round(memory.columns, across, 40):
        x = _LEFT + (column + 0.5) * across
        parts.append(f'<text x="{x:g}" y="{_TOP - 6}" text-anchor="middle" {look}>{column}</text>')
    x, y = float(_LEFT), bottom + 12
    for code, name in legend:
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="10" height="10" fill="#{code:06x}"/>')
        x += 10
        if name:
            parts.append(f'<text x="{x + 4:g}" y="{y + 9:g}" font-size="11" fill="#1b1f24">{escape(name)}</text>')
            x += 14 + 6.5 * len(name)
    parts += [f'<text x="8" y="{bottom + 44:g}" {look}>{escape(words)}</text>', "</svg>", ""]
    return "\n".join(parts)


def _crosses(conflicts: Array, width: float, height: float) -> list[str]:
    """Crosses on cells of a size; where they are small, they are hatched together."""
    places = numpy.argwhere(conflicts).tolist()
    if not places:
        return []
    if min(width, height) < _CROSSED:
        parts = [
            f"M{_LEFT + column * width:g} {_TOP + row * height:g}"
            f"h{columns * width:g}v{rows * height:g}h{-columns * width:g}z"
            for row, column, rows, columns, _ in _rectangles(numpy.where(conflicts, 0, -1))
        ]
        return [
            '<pattern id="conflicts" width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<path d="M0 6L6 0" stroke="{_CONFLICT}"/></pattern>',
            # The edge makes a single small cell seen.
            f'<path d="{"".join(parts)}" fill="url(#conflicts)" stroke="{_CONFLICT}"/>',
        ]
    cross = f"l{width:g} {height:g}m{-width:g} 0l{width:g} {-height:g}"
    path = "".join([f"M{_LEFT + column * width:g} {_TOP + row * height:g}{cross}" for row, column in places])
    return [f'<path d="{path}" stroke="{_CONFLICT}" stroke-width="{min(2.0, width / 5):g}" fill="none"/>']


def _round(count: int, scale: float, room: int) -> range:
    """Round indices, so many that their labels do not touch."""
    step, factors = 1.0, cycle((2.0, 2.5, 2.0))
    while step * scale < room:
        step *= next(factors)
    return range(0, count, max(1, round(step)))


def _rectangles(codes: Array) -> list[list[int]]:
    """Row, column, rows, columns and code of what has one code, unless that is -1: runs of a row, continued down while
    the next row has the same run."""
    found: list[list[int]] = []
    above: dict[tuple[int, int, int], list[int]] = {}
    for row, line in enumerate(codes):
        runs: dict[tuple[int, int, int], list[int]] = {}
        for start, end in pairwise([0, *(numpy.flatnonzero(numpy.diff(line)) + 1).tolist(), len(line)]):
            key = start, end, int(line[start]) if start < end else -1
            if key[2] < 0:
                continue
            if key not in above:
                found.append([row, start, 0, end - start, key[2]])
            runs[key] = above.get(key) or found[-1]
            runs[key][2] += 1
        above = runs
    return found
