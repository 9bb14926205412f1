"""How long the language server takes to answer, over its real wire: edits up to the diagnostics, hover, completion.

Usage: python benchmarks/language_server.py [ROUNDS] [--json FILE]

Programs of 1,000 and 20,000 operations of several kinds are opened and edited at their beginning, in the middle and at
the end: a name is broken and mended, a type is left open and closed, a line is typed.  The bars are those of the
language server: 30 and 300 ms for an edit, 20 ms for hover and completion, each the median.  The peer, in the same run,
is a whole `tileir check` of the file.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import Line, add_line_options, finish

EXAMPLES = Path(__file__).parents[1] / "examples"
URI = "file:///benchmark.mlir"


def row(count: int) -> str:
    """A row of additions, each of the result before it."""
    lines = ["    %c = constant <f32: 1.0> : tile<64xf32>", "    %v0 = constant <f32: 2.0> : tile<64xf32>"]
    lines.extend([f"    %v{i + 1} = addf %v{i}, %c rounding<nearest_even> : tile<64xf32>" for i in range(count)])
    return "\n".join(lines)


def one_function(count: int) -> str:
    return f"cuda_tile.module @m {{\n  entry @k() {{\n{row(count - 5)}\n    return\n  }}\n}}\n"


def many_functions(count: int) -> str:
    each = "\n".join([f"  entry @k{i}() {{\n{row(96)}\n    return\n  }}" for i in range(count // 100)])
    return f"cuda_tile.module @m {{\n{each}\n}}\n"


def nests(count: int) -> str:
    """Loops in loops, twenty deep, with additions in the innermost."""
    body = "\n".join([f"%w{i} = addi %i, %i : tile<i32>" for i in range(20)])
    nest = body.replace("%i,", "%i19,").replace("%i :", "%i19 :")
    for level in reversed(range(20)):
        nest = f"for %i{level} in (%a to %b, step %s) : tile<i32> {{\n{nest}\n}}"
    constants = "\n".join(
        [f"%{name} = constant <i32: {value}> : tile<i32>" for name, value in zip("abs", (0, 4, 1), strict=True)]
    )
    rows = "\n".join([nest] * (count // 60))
    return f"cuda_tile.module @m {{\nentry @k() {{\n{constants}\n{rows}\nreturn\n}}\n}}\n"


def real_kernels(count: int) -> str:
    """The kernels of the examples, again and again under other names."""
    sources = [(EXAMPLES / f"{name}.mlir").read_text() for name in ("matmul", "softmax", "attention", "vector_add")]
    bodies = [source[source.index("  entry @") : source.rindex("}")].rstrip() for source in sources]
    found: list[str] = []
    operations = 0
    while operations < count:
        body = bodies[len(found) % len(bodies)]
        found.append(re.sub(r"entry @(\w+)", rf"entry @\1_{len(found)}", body))
        operations += len(re.findall(r"^ +(?:%[^=]*= )?[a-z_]+ ", body, re.MULTILINE))
    return "cuda_tile.module @m {\n" + "\n".join(found) + "\n}\n"


KINDS = {"one function": one_function, "many functions": many_functions, "nests": nests, "real kernels": real_kernels}


class Client:
    """Talks to a server of its own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tileir", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.number = 0
        self.version = 0
        options = {"lint": {"enable": False}}
        self.ask(
            "initialize", {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": options}
        )
        self.tell("initialized", {})

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def tell(self, method: str, params: object) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: object) -> Any:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while (message := self.read()).get("id") != self.number:
            pass
        return message["result"]

    def read(self) -> dict[str, Any]:
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while line := stream.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(stream.read(length))
        return message

    def diagnostics(self) -> list[Any]:
        """Those of the newest version."""
        while True:
            message = self.read()
            if message.get("method") == "textDocument/publishDiagnostics":
                if message["params"].get("version") == self.version:
                    return list(message["params"]["diagnostics"])

    def open(self, text: str) -> None:
        self.version = 1
        item = {"uri": URI, "languageId": "tileir", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})
        assert self.diagnostics() == []

    def edit(self, line: int, start: int, end: int, text: str) -> tuple[float, int]:
        """Milliseconds from an edit to its diagnostics, and how many there are."""
        return self._edit({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}, text)

    def join(self, line: int) -> tuple[float, int]:
        """Delete an empty line."""
        return self._edit({"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}, "")

    def _edit(self, place: dict[str, Any], text: str) -> tuple[float, int]:
        self.version += 1
        began = time.perf_counter()
        self.tell(
            "textDocument/didChange",
            {"textDocument": {"uri": URI, "version": self.version}, "contentChanges": [{"range": place, "text": text}]},
        )
        found = self.diagnostics()
        return (time.perf_counter() - began) * 1000, len(found)

    def timed(self, method: str, line: int, character: int) -> float:
        began = time.perf_counter()
        position = {"line": line, "character": character}
        assert self.ask(method, {"textDocument": {"uri": URI}, "position": position}) is not None
        return (time.perf_counter() - began) * 1000

    def end(self) -> None:
        self.ask("shutdown", None)
        self.tell("exit", None)
        self.process.wait()


def measure(text: str, rounds: int) -> tuple[list[float], list[float], list[float]]:
    """Times of edits, hovers and completions at three places of a text."""
    lines = text.split("\n")
    places = [index for index, line in enumerate(lines) if re.search(" = add[if] ", line)]
    client = Client()
    client.open(text)
    edits: list[float] = []
    hovers: list[float] = []
    completions: list[float] = []
    for line in (places[2], places[len(places) // 2], places[-2]):
        words = lines[line]
        name = words.index("add")
        for _ in range(rounds):
            for start, end, new, sound in (
                (name, name + 3, "ad", False),
                (name, name + 2, "add", True),
                (len(words) - 1, len(words), "", False),
                (len(words) - 1, len(words) - 1, ">", True),
            ):
                took, found = client.edit(line, start, end, new)
                assert (found == 0) == sound, (words, new, found)
                edits.append(took)
            # A line typed character by character, and deleted.
            written = "%new = addi "
            edits.append(client.edit(line, 0, 0, "\n")[0])
            for index, character in enumerate(written):
                edits.append(client.edit(line, index, index, character)[0])
            completions.append(client.timed("textDocument/completion", line, len(written)))
            edits.append(client.edit(line, 0, len(written), "")[0])
            took, found = client.join(line)
            assert found == 0
            edits.append(took)
            hovers.append(client.timed("textDocument/hover", line, name + 1))
    client.end()
    return edits, hovers, completions


def check(text: str) -> float:
    """Milliseconds of a whole `tileir check`, start of the process included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.mlir")
        path.write_text(text)
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "tileir", "check", str(path)], check=True)
        return (time.perf_counter() - began) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", nargs="?", type=int, default=5)
    add_line_options(parser)
    options = parser.parse_args()
    rounds = options.rounds
    lines: list[Line] = []
    print("| program | operations | edit (median) | bar | hover | completion | bar | tileir check |")
    print("|---|---|---|---|---|---|---|---|")
    for count, bar in ((1_000, 30), (20_000, 300)):
        for name, make in KINDS.items():
            text = make(count)
            edits, hovers, completions = measure(text, rounds)
            for what, times, most in (("edit", edits, bar), ("hover", hovers, 20), ("completion", completions, 20)):
                work = f"language server: {what}, {name}, {count:,}"
                lines.append(Line(work, "", statistics.median(times), most, True, " ms"))
            print(
                f"| {name} | {count:,} | {statistics.median(edits):.1f} ms | {bar} ms | "
                f"{statistics.median(hovers):.1f} ms | {statistics.median(completions):.1f} ms | 20 ms | "
                f"{check(text):.0f} ms |",
                flush=True,
            )
    return finish(lines, options)


if __name__ == "__main__":
    sys.exit(main())
