"""Draws what a person sees at a terminal into docs/pictures: `python .ci/terminal_pictures.py [DIRECTORY]`.

Each picture is a real session: commands are run from the top of the repository and what they print is drawn.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
ESCAPE = re.compile("\x1b\\[([0-9;]*)m")
# The colors of a terminal by their numbers, for a dark background.
COLORS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea"}
WIDTH, CHARACTER, LINE, MARGIN = 132, 7.25, 17, 14

LINTED = """\
entry @scale(%source: tile<ptr<f32>>, %target: tile<ptr<f32>>) {
  %x, %read = load_ptr_tko weak %source : tile<ptr<f32>> -> tile<f32>, token
  %old, %read_again = load_ptr_tko weak %target : tile<ptr<f32>> -> tile<f32>, token
  %square = mulf %x, %x : tile<f32>
  %written = store_ptr_tko weak %target, %x : tile<ptr<f32>>, tile<f32> -> token
  %written_again = store_ptr_tko weak %target, %square : tile<ptr<f32>>, tile<f32> -> token
  return
}
"""
ARGUMENTS = (
    "--grid 2,2 --arg rand:f16:128x128 --arg rand:f16:128x128 --arg zeros:f32:128x128 --arg 128 --arg 128 --arg 128"
)
COMMANDS = (
    "break mmaf if step == 2",
    "run",
    "backtrace",
    "info locals",
    "print accumulator.max()",
    "reverse-next",
    "print numpy.isnan(x).sum()",
)


def output(*words: str) -> str:
    command = [sys.executable, "-m", "tileir", *words]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def debugged() -> str:
    words = ["debug", "examples/matmul.mlir", *shlex.split(ARGUMENTS), "--color", "always", "--batch"]
    shown = ["$ tileir debug examples/matmul.mlir --grid 2,2 --arg rand:f16:128x128 .."]
    done = ""
    for number, command in enumerate(COMMANDS):
        # What each command adds to what was printed before it.
        whole = output(*words, *[word for each in COMMANDS[: number + 1] for word in ("-ex", each)])
        shown.append(f"\x1b[36m(tileir)\x1b[0m {command}")
        shown.append(whole.removeprefix(done).rstrip("\n"))
        done = whole
    return "\n".join(shown)


def linted() -> str:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "scale.mlir")
        path.write_text(LINTED)
        return "$ tileir lint scale.mlir\n" + output("lint", "--color", "always", str(path)).replace(
            f"{directory}/", ""
        )


def sanitized() -> str:
    words = "emulate --sanitize examples/racy_script.py"
    return f"$ tileir {words}\n" + output(*words.split())


def drawn(text: str, title: str) -> str:
    """A text with the colors of a terminal as a picture."""
    lines: list[str] = []
    style = ""
    for line in text.split("\n"):
        pieces: list[str] = []
        room = WIDTH
        parts = ESCAPE.split(line)
        for index, part in enumerate(parts):
            if index % 2:
                numbers = part.split(";")
                color = next((COLORS[number] for number in numbers if number in COLORS), "")
                style = "" if numbers[-1] in ("0", "") else f' fill="{color}"' if color else style
                style += ' font-weight="600"' if "1" in numbers and "font-weight" not in style else ""
            elif part and room > 0:
                shown = part.expandtabs(4)
                shown = shown if len(shown) <= room else shown[: room - 2] + " …"
                room -= len(shown)
                pieces.append(f"<tspan{style}>{escape(shown)}</tspan>")
        place = MARGIN + LINE * (len(lines) + 1)
        lines.append(f'<text x="{MARGIN}" y="{place}" xml:space="preserve">{"".join(pieces)}</text>')
    width, height = int(WIDTH * CHARACTER) + 2 * MARGIN, LINE * (len(lines) + 1) + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
        f"<title>{escape(title)}</title>"
        "<style>text { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #e6edf3 }</style>"
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>' + "\n".join(lines) + "</svg>\n"
    )


def main(arguments: list[str]) -> None:
    directory = Path(arguments[0]) if arguments else ROOT / "docs" / "pictures"
    (directory / "terminal_debugging.svg").write_text(
        drawn(debugged(), "A matrix product, stopped in its loop, and a line back")
    )
    (directory / "terminal_lint.svg").write_text(drawn(linted(), "What lint says about a kernel"))
    (directory / "terminal_sanitizer.svg").write_text(drawn(sanitized(), "Two races that the sanitizer reports"))


if __name__ == "__main__":
    main(sys.argv[1:])
