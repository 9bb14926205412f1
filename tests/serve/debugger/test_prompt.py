"""The debugger as it is typed at: a real terminal, with its prompt, completion, history and Ctrl-C."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

from tests.optional import needs
from tests.serve.debugger.test_adapter_breakpoints import ENDLESS

needs("terminal")

PROMPT = "(tileir) "
_ESCAPES = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]|\x07|\r")


class Typist:
    """Somebody at a terminal: types, and waits for what is shown."""

    def __init__(self, *words: str) -> None:
        self._own, other = os.openpty()
        environment = {**os.environ, "TERM": "xterm", "INPUTRC": os.devnull}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tileir", "debug", *words],
            stdin=other,
            stdout=other,
            stderr=other,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: take_terminal(other),
        )
        os.close(other)
        self.shown = ""

    def wait_for(self, text: str, patience: float = 120) -> str:
        """What is shown up to a text, which is taken away with it; escapes are left out."""
        end = time.monotonic() + patience
        while text not in self.shown:
            ready, _, _ = select.select([self._own], [], [], max(end - time.monotonic(), 0))
            assert ready, f"{text!r} is not shown, but {self.shown!r}"
            try:
                data = os.read(self._own, 4096)
            except OSError:
                data = b""
            assert data, f"the debugger has ended without {text!r}: {self.shown!r}"
            self.shown += _ESCAPES.sub("", data.decode("utf-8", "replace"))
        before, _, self.shown = self.shown.partition(text)
        return before

    def type(self, text: str) -> None:
        os.write(self._own, text.encode())

    def interrupt(self, text: str) -> str:
        """Press Ctrl-C until a text is shown, and give what was shown before it. Once is not always enough, and nobody
        would be surprised: Python's own reader of lines misses one that comes while it handles a key or shows the
        prompt, and waits for another key."""
        for _ in range(60):
            self.type("\x03")
            try:
                return self.wait_for(text, 2)
            except AssertionError:
                if self.process.poll() is not None:
                    raise
        return self.wait_for(text, 0)

    def command(self, line: str) -> str:
        """Type a command, and give what it shows."""
        self.type(line + "\n")
        found = self.wait_for(PROMPT)
        return found.partition("\n")[2]

    def end(self) -> int:
        while True:
            try:
                if not os.read(self._own, 4096):
                    break
            except OSError:
                break
        os.close(self._own)
        return self.process.wait(120)


def take_terminal(terminal: int) -> None:
    """Ctrl-C in it is for this process."""
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def test_session_at_a_terminal(tmp_path: Path) -> None:
    program = tmp_path / "endless.mlir"
    program.write_text(ENDLESS)
    typist = Typist(str(program))
    typist.wait_for(PROMPT)
    assert "The launch is not being run: " in typist.command("next")
    assert "%zero = constant" in typist.command("start")
    assert "%one = constant" in typist.command("next")
    # An empty line is the same once more.
    assert "loop iter_values" in typist.command("")
    typist.type("reverse-con\t")
    typist.wait_for("reverse-continue")
    typist.type("\x15")
    typist.type("continue\n")
    time.sleep(0.5)
    typist.interrupt("Interrupted.")
    typist.type("bt\n")
    typist.wait_for("endless (0, 0, 0)")
    typist.wait_for(PROMPT)
    # At the prompt nothing is running.
    typist.type("half a comm")
    typist.wait_for("half a comm")
    typist.interrupt("Quit")
    typist.wait_for(PROMPT)
    typist.type("\x04")
    assert typist.end() == 0
