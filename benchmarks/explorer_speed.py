"""How long the explorer takes to open, and how fluid its page is: 4,096 tile blocks over 16,777,216 elements.

    python benchmarks/explorer_speed.py [--blocks N] [--strict]

A vector add in tiles of 4,096 f32, three arrays of 64 MiB.  From the call of `tileir.explore` to the picture of memory
in a headless chromium (or the browser that TILEIR_CHROMIUM names), with Playwright; then the time in which the page
shows another moment, when its slider is moved.  Beside it the same launch without a recording, in the interpreter.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import time
from typing import Any

import numpy

import tileir
from cpu_programs import vector_add
from measure import Line, add_line_options, finish, machine, table, tileir_build

TILE = 4096
BAR_OPEN = 5.0
BAR_REDRAW = 0.1
MOVES = 40


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=4096)
    add_line_options(parser)
    given = parser.parse_args()
    print(f"{tileir_build()}, {machine()}")
    count = given.blocks * TILE
    rng = numpy.random.default_rng(0)
    a, b = rng.random(count, numpy.float32), rng.random(count, numpy.float32)
    c = numpy.zeros(count, numpy.float32)
    module = tileir.parse(vector_add(TILE))
    plain = seconds(lambda: tileir.compile(module, backend="interpreter").launch(given.blocks, (a, b, c, count)))
    begin = time.perf_counter()
    page = tileir.explore(module, given.blocks, (a, b, c, count), open=False)
    recorded = time.perf_counter() - begin
    url = page.url
    page.answer("summary")
    answered = time.perf_counter() - begin
    recording = page.answer("summary")["recording"]
    rows = [
        ("plain launch in the interpreter", f"{plain:.2f} s", ""),
        ("recorded", f"{recorded:.2f} s", ""),
        ("ready to be asked", f"{answered:.2f} s", ""),
    ]
    lines = [Line("explorer: ready to be asked", "the plain launch", answered / plain, at_most=True)]
    opened, redrawn = browsed(url, begin)
    if opened is not None:
        median = statistics.median(redrawn)
        rows.append(("picture of memory in the browser", f"{opened:.2f} s", f"{BAR_OPEN:.0f} s"))
        rows.append(("another moment, median", f"{median * 1e3:.0f} ms", f"{BAR_REDRAW * 1e3:.0f} ms"))
        lines.append(Line("explorer: picture of memory in the browser", "", opened, BAR_OPEN, True, " s"))
        lines.append(Line("explorer: another moment, median", "", median * 1e3, BAR_REDRAW * 1e3, True, " ms"))
        rows.append(("another moment, longest", f"{max(redrawn) * 1e3:.0f} ms", ""))
    page.close()
    print(table(("", "time", "bar"), rows))
    size = f"{recording['bytes'] / 2**20:.0f} MiB, {12 * count / 2**20:.0f} of which are the arrays"
    print(f"the recording: {recording['accesses']} accesses, {size}")
    return finish(lines, given)


def seconds(work: Any) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def browsed(url: str, begin: float) -> tuple[float | None, list[float]]:
    """When the picture is there, counted from `begin`, and how long each move of the slider takes."""
    program = os.environ.get("TILEIR_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        print("(no browser: install chromium and playwright for the rest)")
        return None, []
    with sync_playwright() as driver:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        start = time.perf_counter()
        browser = driver.chromium.launch(executable_path=program, args=options)
        window = browser.new_page(viewport={"width": 1280, "height": 800})
        # A user's browser runs already.
        begin += time.perf_counter() - start
        window.goto(f"{url}#view=memory")
        window.wait_for_function(DRAWN, polling=20)
        opened = time.perf_counter() - begin
        redrawn = [each / 1e3 for each in window.evaluate(MOVE, MOVES)]
        browser.close()
    return opened, redrawn


# All arrays are drawn.
DRAWN = """() => {
    const canvases = [...document.querySelectorAll("#view-memory canvas")];
    return canvases.length >= 3 && canvases.every((canvas) => canvas.width > 0 && canvas.offsetParent !== null);
}"""

# Moves the slider of tile blocks to places all over the launch, and waits until the page is drawn again.
MOVE = """async (moves) => {
    const slider = document.querySelector("#moment input[type=range]");
    const found = [];
    for (let move = 0; move < moves; move += 1) {
        const begin = performance.now();
        slider.value = String(Math.round(((move * 37) % moves) * Number(slider.max) / moves));
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        // The first frame has the change, the second begins when it is drawn.
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        found.push(performance.now() - begin);
    }
    return found;
}"""


if __name__ == "__main__":
    sys.exit(main())
