"""`tileir completion`: the scripts, run by the shells they are for."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.optional import needs

from tileir.tools import main
from tileir.tools.more import completion

ROOT = Path(__file__).parents[2]

# A command line up to the cursor, what is offered there among other things, and something that is not.
CASES = [
    ("tileir ch", ["check"], "opt"),
    ("tileir help di", ["dis"], "check"),
    ("tileir check --fo", ["--format"], "--json"),
    ("tileir check --format ", ["text", "json", "sarif", "github"], "check"),
    ("tileir check --format=sa", ["sarif"], "json"),
    ("tileir check --color=", ["auto", "always", "never"], "sarif"),
    ("tileir check examples/vec", ["examples/vector_add.mlir"], "examples/matmul.mlir"),
    ("tileir opt --passes can", ["canonicalize"], "cse"),
    ("tileir opt --passes cse,dc", ["cse,dce"], "dce"),
    ("tileir opt -O", ["-O3"], "-O4"),
    ("tileir opt --load examples/own", ["examples/own_pass.py"], "examples/matmul.mlir"),
    ("tileir as examples/soft", ["examples/softmax.mlir"], "examples/matmul.mlir"),
    ("tileir dis --output-dir exa", ["examples"], "README.md"),
    ("tileir run --backend ", ["auto", "cpu", "interpreter"], "check"),
    ("tileir emulate --target b", ["b200", "b300"], "h100"),
    ("tileir compile --target h", ["h100", "h200"], "sm_90"),
    ("tileir cost --target sm_9", ["sm_90"], "h200"),
    ("tileir run --sanitize=", ["all", "errors"], "check"),
    ("tileir explain load_", ["load_ptr_tko", "load_view_tko"], "addf"),
    ("tileir docs command", ["command_line"], "cpu"),
    ("tileir completion ", ["bash", "zsh", "fish"], "check"),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    for shell in completion.SHELLS:
        text = subprocess.run(
            [sys.executable, "-m", "tileir", "completion", shell], capture_output=True, check=True, timeout=60
        )
        assert text.stderr == b""
        (folder / shell).write_bytes(text.stdout)
    return folder


def shown(text: str, line: str) -> list[str]:
    """What is offered, without what stands before it in the word; a directory goes with or without its slash."""
    return [word.rpartition("=")[2].rstrip("/") if "=" in line else word.rstrip("/") for word in text.splitlines()]


@pytest.mark.parametrize(("line", "expected", "other"), CASES)
def test_bash(line: str, expected: list[str], other: str, scripts: Path) -> None:
    # As bash makes words of it.
    words = line.replace("=", " = ").split(" ")
    program = (
        f'source {scripts / "bash"}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tileir; '
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    before = [word for word in words[:-1] if word]
    # The cursor after an equals sign is in its word or in an empty one.
    for given in [[*before, words[-1]], before] if line.endswith("=") else [[*before, words[-1]]]:
        command = ["bash", "--norc", "-c", program, "bash", *given]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
        assert done.stderr == ""
        found = shown(done.stdout, line)
        assert set(expected) <= set(found) and other not in found


@pytest.mark.parametrize(("line", "expected", "other"), CASES)
def test_fish(line: str, expected: list[str], other: str, scripts: Path, tmp_path: Path) -> None:
    needs("fish")
    program = f"source {scripts / 'fish'}; complete -C '{line}' | string replace -r '\\t.*' ''"
    done = subprocess.run(
        ["fish", "--no-config", "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        env=dict(os.environ, HOME=str(tmp_path)),
    )
    assert done.stderr == ""
    found = shown(done.stdout, line)
    assert set(expected) <= set(found) and other not in found


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        import pty

        self.process, self.screen = pty.fork()
        if self.process == 0:
            os.chdir(ROOT)
            os.execvpe(command[0], command, environment)
        self.seen = ""

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{text!r} does not come; there is {self.seen!r}"
            if select.select([self.screen], [], [], 0.2)[0]:
                self.seen += os.read(self.screen, 1 << 16).decode(errors="replace")

    def complete(self, line: str, expected: str) -> None:
        """Type a line, the key that completes it, and what empties it again."""
        self.seen = ""
        os.write(self.screen, line.encode() + b"\t")
        self.wait_for(expected)
        os.write(self.screen, b"\x15")

    def close(self) -> None:
        import signal

        os.close(self.screen)
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


@pytest.fixture
def zsh(scripts: Path, tmp_path: Path) -> Iterator[Terminal]:
    needs("zsh")
    needs("terminal")
    (tmp_path / ".zshrc").write_text(
        f"autoload -U compinit; compinit -u -d {tmp_path}/dump; source {scripts / 'zsh'}; PROMPT='ready> '\n"
    )
    environment = {"ZDOTDIR": str(tmp_path), "HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "dumb"}
    terminal = Terminal(["zsh", "-d", "-i"], environment)
    try:
        terminal.wait_for("ready> ")
        yield terminal
    finally:
        terminal.close()


def test_zsh(zsh: Terminal) -> None:
    zsh.complete("tileir che", "tileir check ")
    zsh.complete("tileir check --form", "--format=")
    zsh.complete("tileir check --format sa", "--format sarif")
    zsh.complete("tileir check --color=nev", "--color=never")
    zsh.complete("tileir check examples/vec", "examples/vector_add.mlir")
    zsh.complete("tileir opt --passes cse,dc", "cse,dce")
    zsh.complete("tileir run --sanitize=al", "--sanitize=all")
    zsh.complete("tileir explain load_p", "load_ptr_tko")
    zsh.complete("tileir completion fi", "fish")
    zsh.complete("tileir dis --output-dir exa", "examples/")


def test_every_option_and_pass_is_in_every_script(scripts: Path) -> None:
    texts = {shell: (scripts / shell).read_text() for shell in completion.SHELLS}
    for command in completion.described():
        for flag in command.flags:
            for name in flag.names:
                in_fish = f"-l {name[2:]} " if name.startswith("--") else f"-s {name[1:]} "
                assert name in texts["bash"] and name in texts["zsh"] and in_fish in texts["fish"]
    # Asked in a process of its own: other tests may have registered passes in this one.
    ask = "from tileir.passes.catalog import registered_passes as all; print(*[known.name for known in all()])"
    names = subprocess.run([sys.executable, "-c", ask], capture_output=True, check=True, timeout=60, text=True)
    assert len(names.stdout.split()) > 10
    for name in names.stdout.split():
        assert all(name in text for text in texts.values())


def test_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err == "error: there is no script for 'tcsh'\nhelp: use bash, zsh, fish\n"
