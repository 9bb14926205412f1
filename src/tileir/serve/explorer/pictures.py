"""Pictures of a recorded launch without a browser, as SVG: for documents, notebooks and `tileir explore --picture`."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.errors import BlockId, ChoiceError, LaunchError
from tileir.execute.recording.arrays import RecordedArray
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


def memory_picture(recording: Recording, array: int | str, color: str = "block") -> str:
    """An array of a recorded launch as SVG: who touched each element, when, or how often.

    `array` is a number or a name, `color` one of `COLORS`.  Of an array with more than two dimensions the first slice
    is drawn.  Arrays of one dimension are folded into rows, large ones are binned;
    the picture says so.  Elements that several tile blocks touch, one of them writing, are crossed.
    """
    if color not in COLORS:
        raise ChoiceError(f"pictures are colored by one of {', '.join(COLORS)}, and not by '{color}'")
    chosen = _array_of(recording, array)
    memory = MemoryCells(recording, chosen)
    place = (0,) * len(memory.slices)
    bins = _bin(memory.rows), _bin(memory.columns)
    cells = memory.cells(place, *bins)
    scale, most = _scale(recording, cells, color)
    pixels = _pixels(recording, cells, color, scale)
    drawing = _Drawing(memory, cells, pixels, bins)
    name = f"{chosen.name} ({chosen.element.spelling}, {' x '.join(map(str, chosen.shape)) or 'scalar'})"
    words = _words(memory, place, bins)
    return drawing.svg(f"{recording.program.entry.symbol_name}: {name}", words, _legend(recording, color, most))


def _array_of(recording: Recording, array: int | str) -> RecordedArray:
    for one in recording.arrays:
        if array in (one.number, one.name):
            return one
    known = ", ".join([one.name for one in recording.arrays]) or "none"
    raise LaunchError(f"the launch has no array '{array}': it has {known}")


def _bin(extent: int) -> int:
    """Powers of two, as tiles have: a bin then seldom has parts of two tiles."""
    size = 1
    while ceil(extent / size) > _CELLS:
        size *= 2
    return size


# --- colors ---


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
    so that neighbors in every direction of the grid are told apart.
    """
    count = grid[0] * grid[1] * grid[2]
    if count <= len(THINGS):
        own: Array = numpy.array(THINGS, numpy.uint8)[blocks]
        return own
    x, y, z = blocks % grid[0], blocks // grid[0] % grid[1], blocks // (grid[0] * grid[1])
    colors = amount_color(blocks / (count - 1))
    pale = ((3 * colors.astype(numpy.int64) + 512) // 5).astype(numpy.uint8)
    found: Array = numpy.where(((x + y + z) % 2 == 1)[..., None], pale, colors)
    return found


def _scale(recording: Recording, cells: Cells, color: str) -> tuple[float, float]:
    """What an amount is divided by, and the largest."""
    if color == "count":
        most = float(cells.count.max(initial=0))
        return most or 1.0, most
    return max(1.0, len(recording.accesses) - 1.0), float(len(recording.accesses))


def _pixels(recording: Recording, cells: Cells, color: str, scale: float) -> Array:
    """The color of each cell."""
    rows = cells.first if color.startswith("first") else cells.last
    touched = cells.count > 0 if color == "count" else rows >= 0
    if color == "count":
        colors = amount_color(cells.count / scale)
    elif color.endswith("time"):
        colors = amount_color(rows / scale)
    else:
        blocks = recording.accesses.block if len(recording.accesses) else numpy.zeros(1, numpy.int32)
        colors = block_color(blocks[numpy.maximum(rows, 0)].astype(numpy.int64), recording.grid)
    found: Array = numpy.where(touched[..., None], colors, numpy.array(_EMPTY, numpy.uint8))
    return found


# --- words ---


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


def _legend(recording: Recording, color: str, most: float) -> list[tuple[str, str]]:
    """Colors with what they mean."""
    grid = recording.grid
    blocks = grid[0] * grid[1] * grid[2]
    if color.endswith("block") and blocks <= len(THINGS):
        colors = block_color(numpy.arange(blocks), grid)
        return [(_css(colors[one]), _block_name(one, grid)) for one in range(blocks)]
    colors = amount_color(numpy.linspace(0, 1, 16))
    first, last = ("0", f"{most:,.3g} accesses") if color == "count" else ("first access", f"last of {most:,.0f}")
    if color.endswith("block"):
        first, last = _block_name(0, grid), f"{_block_name(blocks - 1, grid)}, every second tile block paler"
    names = [first, *[""] * 14, last]
    return [(_css(one), name) for one, name in zip(colors, names, strict=True)]


def _block_name(block: int, grid: BlockId) -> str:
    dimensions = 3 if grid[2] > 1 else 2 if grid[1] > 1 else 1
    return f"({', '.join(map(str, block_at(block, grid)[:dimensions]))})"


def _css(color: Sequence[int]) -> str:
    return "#" + "".join([f"{int(channel):02x}" for channel in color])


# --- drawing ---


class _Drawing:
    """Cells, axes, crosses and words as SVG."""

    def __init__(self, memory: MemoryCells, cells: Cells, pixels: Array, bins: tuple[int, int]) -> None:
        self._memory = memory
        self._cells = cells
        self._pixels = pixels
        self._bins = bins
        rows, columns = memory.rows, memory.columns
        across = min(_WIDTH / max(columns, 1), 48.0)
        down = min(across, _HEIGHT / max(rows, 1))
        # Few long rows would be a line.
        down = max(down, min(24.0, _HEIGHT / max(rows, 1), 160 / max(rows, 1)))
        self._across, self._down = across, down
        self._right, self._bottom = _LEFT + across * columns, _TOP + down * rows

    def svg(self, title: str, words: str, legend: list[tuple[str, str]]) -> str:
        width, height = max(int(self._right) + 16, 420), int(self._bottom) + 56
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label={quoteattr(f"{title}; {words}")} font-family="sans-serif">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<text x="8" y="18" font-size="14" font-weight="bold" fill="#1b1f24">{escape(title)}</text>',
            self._picture(),
            self._crosses(),
            *self._ticks(),
            *_legend_svg(legend, self._bottom + 12),
            f'<text x="8" y="{self._bottom + 44:g}" font-size="11" fill="#57606a">{escape(words)}</text>',
            "</svg>",
        ]
        return "\n".join(part for part in parts if part) + "\n"

    def _picture(self) -> str:
        rows, columns = self._bins
        drawn = []
        for row, column, height, width, color in join(self._pixels, self._cells.present):
            x, y = _LEFT + column * columns * self._across, _TOP + row * rows * self._down
            # Bins at the edge reach beyond the array.
            right = min(x + width * columns * self._across, self._right)
            bottom = min(y + height * rows * self._down, self._bottom)
            drawn.append(
                f'<rect x="{x:g}" y="{y:g}" width="{right - x:g}" height="{bottom - y:g}" fill="{_css(color)}"/>'
            )
        return "\n".join(['<g shape-rendering="crispEdges">', *drawn, "</g>"])

    def _crosses(self) -> str:
        places = numpy.argwhere(self._cells.conflicts).tolist()
        if not places:
            return ""
        width, height = self._bins[1] * self._across, self._bins[0] * self._down
        if min(width, height) < _CROSSED:
            marks = numpy.zeros((*self._cells.conflicts.shape, 3), numpy.uint8)
            runs = join(marks, self._cells.conflicts)
            parts = [
                f"M{_LEFT + column * width:g} {_TOP + row * height:g}"
                f"h{columns * width:g}v{rows * height:g}h{-columns * width:g}z"
                for row, column, rows, columns, _ in runs
            ]
            pattern = (
                '<pattern id="conflicts" width="6" height="6" patternUnits="userSpaceOnUse">'
                f'<path d="M0 6L6 0" stroke="{_CONFLICT}"/></pattern>'
            )
            # The edge makes a single small cell seen.
            look = f'fill="url(#conflicts)" stroke="{_CONFLICT}"'
            return f'{pattern}\n<path d="{"".join(parts)}" {look}/>'
        cross = f"l{width:g} {height:g}m{-width:g} 0l{width:g} {-height:g}"
        path = "".join([f"M{_LEFT + column * width:g} {_TOP + row * height:g}{cross}" for row, column in places])
        return f'<path d="{path}" stroke="{_CONFLICT}" stroke-width="{min(2.0, width / 5):g}" fill="none"/>'

    def _ticks(self) -> list[str]:
        look = 'font-size="11" fill="#57606a"'
        label = self._memory.fold or 1
        return [
            *[
                f'<text x="{_LEFT - 6}" y="{_TOP + (row + 0.5) * self._down + 4:g}" text-anchor="end" {look}>'
                f"{row * label}</text>"
                for row in _round(self._memory.rows, self._down, 18)
            ],
            *[
                f'<text x="{_LEFT + (column + 0.5) * self._across:g}" y="{_TOP - 6}" text-anchor="middle" {look}>'
                f"{column}</text>"
                for column in _round(self._memory.columns, self._across, 40)
            ],
        ]


def _round(count: int, scale: float, room: int) -> list[int]:
    """Round indices, so many that their labels do not touch."""
    step, factors, turn = 1.0, (2.0, 2.5, 2.0), 0
    while step * scale < room:
        step *= factors[turn % 3]
        turn += 1
    return list(range(0, count, max(1, round(step))))


def _legend_svg(legend: list[tuple[str, str]], y: float) -> list[str]:
    drawn, x = [], float(_LEFT)
    for fill, name in legend:
        drawn.append(f'<rect x="{x:g}" y="{y:g}" width="10" height="10" fill="{fill}"/>')
        x += 10
        if name:
            drawn.append(f'<text x="{x + 4:g}" y="{y + 9:g}" font-size="11" fill="#1b1f24">{escape(name)}</text>')
            x += 14 + 6.5 * len(name)
    return drawn


def join(pixels: Array, present: Array) -> list[tuple[int, int, int, int, Sequence[int]]]:
    """Rectangles of one color: runs of a row, continued down while the next row has the same run."""
    height, width, _ = pixels.shape
    codes = pixels[..., 0].astype(numpy.int64) << 16 | pixels[..., 1].astype(numpy.int64) << 8 | pixels[..., 2]
    codes[~present] = -1
    found: list[list[int]] = []
    open_runs: dict[tuple[int, int, int], list[int]] = {}
    for row in range(height):
        line = codes[row]
        starts = [0, *(numpy.flatnonzero(numpy.diff(line)) + 1).tolist()]
        runs: dict[tuple[int, int, int], list[int]] = {}
        for start, end in zip(starts, [*starts[1:], width], strict=True):
            code = int(line[start]) if width else -1
            if code < 0:
                continue
            key = (start, end, code)
            known = open_runs.get(key)
            if known is None:
                known = [row, start, 0, end - start, code]
                found.append(known)
            known[2] += 1
            runs[key] = known
        open_runs = runs
    return [
        (row, column, rows, columns, (code >> 16, code >> 8 & 255, code & 255))
        for row, column, rows, columns, code in found
    ]
