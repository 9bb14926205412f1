"""Makes the pictures of editors in docs/pictures: `python .ci/editor_pictures.py CODE_SERVER [NAME..]`.

Each is a real session: Visual Studio Code, as code-server serves it to a browser that Playwright drives, with the
packaged extension (`make vscode`), the language server and the debugger of this repository.  CODE_SERVER is its
command, or its `entry.js` for Node; TILEIR_CHROMIUM names another browser than Debian's.  `tileir` has to be on the
path, and pngquant, which makes the pictures small.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
SETTINGS = {
    "workbench.startupEditor": "none",
    "workbench.colorTheme": "Default Dark Modern",
    "workbench.tips.enabled": False,
    "workbench.activityBar.location": "hidden",
    "workbench.statusBar.visible": True,
    "workbench.layoutControl.enabled": False,
    "workbench.editor.showTabs": "single",
    "breadcrumbs.enabled": False,
    "window.commandCenter": False,
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "extensions.ignoreRecommendations": True,
    "git.enabled": False,
    "editor.minimap.enabled": False,
    "editor.fontSize": 13,
    "editor.cursorBlinking": "solid",
    "editor.hover.delay": 100,
    "editor.lightbulb.enabled": "off",
    "debug.toolBarLocation": "docked",
    "debug.openDebug": "neverOpen",
    "debug.inlineValues": "off",
    "debug.console.fontSize": 12,
}
LAUNCH = (
    "// tileir: --grid 4,5 --arg rand:f16:200x150 --arg rand:f16:150x300 --arg zeros:f32:200x300"
    " --arg 200 --arg 300 --arg 150\n"
)


class Session:
    """Visual Studio Code on a folder of examples."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def command(self, words: str) -> None:
        """Carry out a command of the palette."""
        self.page.keyboard.press("F1")
        self.page.wait_for_selector(".quick-input-widget", state="visible")
        self.page.keyboard.type(words)
        self.page.wait_for_selector(".quick-input-list .monaco-list-row")
        time.sleep(0.8)
        self.page.keyboard.press("Enter")
        time.sleep(0.8)

    def open(self, name: str, line: int = 1, column: int = 1) -> None:
        self.page.keyboard.press("Control+p")
        self.page.wait_for_selector(".quick-input-widget", state="visible")
        self.page.keyboard.type(name)
        self.page.wait_for_selector(f".quick-input-list .monaco-list-row:has-text('{name}')")
        time.sleep(0.5)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector(f".tab-label:has-text('{name}'), .label-name:has-text('{name}')")
        self.page.wait_for_selector(".monaco-editor .view-line span.mtk1")
        time.sleep(1)
        self.go_to(line, column)

    def go_to(self, line: int, column: int = 1) -> None:
        self.page.keyboard.press("Control+g")
        self.page.wait_for_selector(".quick-input-widget", state="visible")
        self.page.keyboard.type(f"{line}:{column}")
        time.sleep(0.5)
        self.page.keyboard.press("Enter")
        time.sleep(0.5)

    def wait_for(self, selector: str, seconds: int = 60) -> None:
        self.page.wait_for_selector(selector, timeout=seconds * 1000)

    def save(self, name: str, **clip: int) -> None:
        self.page.mouse.move(5, self.page.viewport_size["height"] - 5)
        target = PICTURES / f"{name}.png"
        self.page.screenshot(path=target, **({"clip": clip} if clip else {}))
        subprocess.run(["pngquant", "--force", "--strip", "--output", str(target), "128", str(target)], check=True)
        print(f"{target}: {target.stat().st_size:,} bytes")


def diagnostics(session: Session) -> None:
    """Mistakes in the text, and what they say."""
    session.open("broken.mlir")
    session.wait_for(".squiggly-error", 20)
    session.command("View: Focus Problems")
    time.sleep(2)
    session.save("editor_diagnostics")
    session.command("View: Close Panel")


def hover(session: Session) -> None:
    session.open("matmul.mlir", 30, 16)
    time.sleep(3)
    session.command("Show or Focus Hover")
    session.wait_for(".monaco-hover:visible")
    time.sleep(2)
    session.save("editor_hover")
    session.page.keyboard.press("Escape")


def completion(session: Session) -> None:
    session.open("matmul.mlir", 30, 1)
    session.page.keyboard.press("End")
    session.page.keyboard.press("Enter")
    session.page.keyboard.type("%scaled = mulf %next, %", delay=40)
    session.page.keyboard.press("Control+Space")
    session.wait_for(".suggest-widget.visible .monaco-list-row")
    time.sleep(2)
    session.save("editor_completion")
    session.page.keyboard.press("Escape")
    session.command("File: Revert File")


def debugging(session: Session) -> None:
    """Stopped at the product, in the second round of the loop."""
    session.open("matmul.mlir", 30, 7)
    session.page.keyboard.press("F9")
    time.sleep(1)
    session.page.keyboard.press("F5")
    session.wait_for(".debug-top-stack-frame-line")
    time.sleep(2)
    session.page.keyboard.press("F5")
    time.sleep(3)
    session.command("View: Show Run and Debug")
    session.command("View: Close Panel")
    session.wait_for(".debug-variables .monaco-list-row")
    time.sleep(2)
    widen(session, 440)
    session.page.locator(".pane-header", has_text="Breakpoints").first.click()
    rows = session.page.locator(".debug-variables .monaco-list-row")
    rows.filter(has_text="Values").first.click()
    rows.filter(has_text="accumulator").first.click()
    header = session.page.locator(".pane-header", has_text="Watch").first
    for expression in ("accumulator.max()", "x[0] @ y[:, 0]"):
        header.hover()
        header.locator(".codicon-watch-expressions-add").click()
        session.page.keyboard.type(expression)
        session.page.keyboard.press("Enter")
        time.sleep(1)
    time.sleep(2)
    session.save("editor_debugging")
    session.page.keyboard.press("Shift+F5")


def widen(session: Session, width: int) -> None:
    """Drag the border of the side bar."""
    box = session.page.locator(".part.sidebar").bounding_box()
    session.page.mouse.move(box["width"], 300)
    session.page.mouse.down()
    session.page.mouse.move(width, 300, steps=5)
    session.page.mouse.up()
    time.sleep(1)


def bytecode(session: Session) -> None:
    """A file of bytecode, opened as any other."""
    session.open("softmax.tileirbc")
    session.wait_for(".monaco-editor .view-line span.mtk1")
    time.sleep(3)
    session.save("editor_bytecode")


SCENES: dict[str, Callable[[Session], None]] = {
    "diagnostics": diagnostics,
    "hover": hover,
    "completion": completion,
    "debugging": debugging,
    "bytecode": bytecode,
}


def main(arguments: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    if not arguments:
        sys.exit("usage: python .ci/editor_pictures.py CODE_SERVER [NAME..]")
    [package] = (ROOT / "build").glob("tileir-*.vsix")
    server = ["node", arguments[0]] if arguments[0].endswith(".js") else [arguments[0]]
    with tempfile.TemporaryDirectory() as directory:
        folder = examples(Path(directory) / "examples")
        port = free_port()
        process = started(server, package, Path(directory), port)
        try:
            with sync_playwright() as driver:
                program = os.environ.get("TILEIR_CHROMIUM", "/usr/bin/chromium")
                browser = driver.chromium.launch(executable_path=program, args=OPTIONS)
                for name in arguments[1:] or SCENES:
                    page = browser.new_page(viewport={"width": 1220, "height": 660})
                    page.goto(f"http://127.0.0.1:{port}/?folder={folder}")
                    page.wait_for_selector(".explorer-folders-view .monaco-list-row", timeout=120_000)
                    session = Session(page)
                    session.command("View: Close Primary Side Bar")
                    SCENES[name](session)
                    page.close()
                browser.close()
        finally:
            process.terminate()
            process.wait()


def examples(folder: Path) -> Path:
    """The examples, one of them with the comment that states its launch."""
    folder.mkdir()
    for path in (ROOT / "examples").glob("*.mlir"):
        shutil.copy(path, folder)
    softmax = [str(folder / "softmax.mlir"), "-o", str(folder / "softmax.tileirbc")]
    subprocess.run(["tileir", "as", *softmax], check=True)
    program = folder / "matmul.mlir"
    program.write_text(LAUNCH + program.read_text(encoding="utf-8"), encoding="utf-8")
    return folder


def started(server: list[str], package: Path, directory: Path, port: int) -> subprocess.Popen[bytes]:
    # Where programs are is a setting of the machine that has them, for an editor in a browser.
    for name, settings in (("User", SETTINGS), ("Machine", {"tileir.command": shutil.which("tileir")})):
        (directory / "user" / name).mkdir(parents=True)
        (directory / "user" / name / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    own = ["--user-data-dir", str(directory / "user"), "--extensions-dir", str(directory / "extensions")]
    subprocess.run([*server, *own, "--install-extension", str(package)], check=True, stdout=subprocess.DEVNULL)
    options = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry", "--disable-update-check"]
    process = subprocess.Popen([*server, *own, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.1)
    return process


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    main(sys.argv[1:])
