"""Makes the pictures of the explorer in docs/pictures: `python .ci/explorer_pictures.py [NAME..]`.

Each is the page of a launch in a browser, which Playwright drives; TILEIR_CHROMIUM names another than Debian's.  A
picture carries the text that it shows, with which tests/serve/explorer/test_shown.py finds out whether it is current.
"""

from __future__ import annotations

import os
import re
import runpy
import sys
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy

import tileir

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
_TEXT = b"Description\0\0\0\0\0"


def racy_script() -> tuple[Any, tuple[int, ...], list[object]]:
    kernel = runpy.run_path("examples/racy_script.py")["total"]
    return kernel, (8,), [numpy.ones(1024, numpy.float32), numpy.zeros(1, numpy.float32)]


def matmul() -> tuple[str, tuple[int, ...], list[object]]:
    random = numpy.random.default_rng(0)
    a, b = [random.random(shape).astype(numpy.float16) for shape in ((100, 72), (72, 88))]
    return "examples/matmul.mlir", (2, 2), [a, b, numpy.zeros((100, 88), numpy.float32), 100, 88, 72]


def racy() -> tuple[str, tuple[int, ...], list[object]]:
    return "examples/racy.mlir", (4,), [numpy.arange(512, dtype=numpy.int32), numpy.zeros(1, numpy.int32), 512]


def three_panes(page: Any) -> None:
    """Show the bytecode as well, and bring a line of each pane into sight."""
    page.get_by_role("button", name="Add a pane").click()
    page.get_by_role("combobox").last.select_option(label="Bytecode")
    page.get_by_text("00000000").first.wait_for()
    page.get_by_text("%next = mmaf").first.click(position={"x": 100, "y": 8})
    page.get_by_text("Bytecode: 8 lines").wait_for()


def roofline(page: Any) -> None:
    page.get_by_role("heading", name="Roofline").evaluate("heading => heading.scrollIntoView()")


class Picture(NamedTuple):
    launch: Callable[[], tuple[Any, tuple[int, ...], list[object]]]
    address: str
    height: int = 760
    scheme: str = "light"
    prepare: Callable[[Any], None] = lambda page: None


NAMES = {
    "explorer_overview": Picture(racy_script, "", 760),
    "explorer_forms": Picture(matmul, "view=forms&place=0&step=20&operation=17", 640, prepare=three_panes),
    "explorer_memory": Picture(matmul, "view=memory&place=2&step=20"),
    "explorer_values": Picture(matmul, "view=values&place=1&step=24", scheme="dark"),
    "explorer_findings": Picture(racy, "view=findings", 560),
    "explorer_cost": Picture(matmul, "view=cost", prepare=roofline),
}


def shot(browser: Any, picture: Picture) -> tuple[bytes, str]:
    """The picture of a page, and the text of the page without what depends on the machine."""
    file, grid, arguments = picture.launch()
    exploration = tileir.explore(file, grid, arguments, open=False)
    context = browser.new_context(color_scheme=picture.scheme, viewport={"width": 1200, "height": picture.height})
    context.add_init_script("try { localStorage.setItem('tileir-hints', 'seen') } catch {}")
    page = context.new_page()
    page.goto(f"{exploration.url}#{picture.address}" if picture.address else exploration.url)
    page.get_by_role("tab", selected=True).wait_for()
    page.wait_for_load_state("networkidle")
    picture.prepare(page)
    page.wait_for_timeout(500)
    try:
        png = page.screenshot()
        # How many lines of a listing there are depends on the font, and what can be chosen on the machine.
        hidden = ".listing-sheet, option:not(:checked)"
        page.evaluate("(hidden) => document.querySelectorAll(hidden).forEach((element) => element.remove())", hidden)
        return png, re.sub("0x[0-9a-f]{6,}", "0x..", page.locator("body").inner_text())
    finally:
        context.close()
        exploration.close()


_PIXELS = """async (source) => {
  const image = await createImageBitmap(await (await fetch(source)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const bytes = canvas.getImageData(0, 0, image.width, image.height).data;
  const url = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(new Blob([bytes]));
  });
  return url.split(",")[1];
}"""


def pixels(browser: Any, png: bytes) -> Any:
    """The colors of a picture: rows, columns, and red, green, blue and opacity."""
    page = browser.new_page()
    data = page.evaluate(_PIXELS, f"data:image/png;base64,{b64encode(png).decode()}")
    page.close()
    width, height = [int.from_bytes(png[begin : begin + 4], "big") for begin in (16, 20)]
    return numpy.frombuffer(b64decode(data), numpy.uint8).reshape(height, width, 4)


def small(browser: Any, png: bytes) -> bytes:
    """A picture in its 256 most frequent colors, with the others as the nearest of these."""
    shown = pixels(browser, png)
    height, width, _ = shown.shape
    found, place, count = numpy.unique(shown.view("<u4"), return_inverse=True, return_counts=True)
    colors = found.view(numpy.uint8).reshape(-1, 4)[:, :3].astype(int)
    palette = colors[numpy.argsort(-count)[:256]]
    nearest = numpy.abs(colors[:, None] - palette[None]).sum(2).argmin(1).astype(numpy.uint8)
    rows = numpy.insert(nearest[place].reshape(height, width), 0, 0, axis=1)
    header = png[16:24] + bytes([8, 3, 0, 0, 0])
    parts = [
        (b"IHDR", header),
        (b"PLTE", palette.astype(numpy.uint8).tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
    ]
    return png[:8] + b"".join([chunk(kind, data) for kind, data in [*parts, (b"IEND", b"")]])


def chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def with_text(png: bytes, text: str) -> bytes:
    """A PNG that carries a text, before its end."""
    return png[:-12] + chunk(b"iTXt", _TEXT + text.encode()) + png[-12:]


def text_of(png: bytes) -> str:
    """The text that a PNG carries; it is the last chunk but one."""
    begin = png.rindex(b"iTXt" + _TEXT)
    length = int.from_bytes(png[begin - 4 : begin], "big")
    return png[begin + 4 + len(_TEXT) : begin + 4 + length].decode()


def main(names: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    os.chdir(ROOT)
    with sync_playwright() as driver:
        program = os.environ.get("TILEIR_CHROMIUM", "/usr/bin/chromium-headless-shell")
        browser = driver.chromium.launch(executable_path=program, args=OPTIONS)
        for name in names or NAMES:
            target = PICTURES / f"{name}.png"
            png, text = shot(browser, NAMES[name])
            target.write_bytes(with_text(small(browser, png), text))
            print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
