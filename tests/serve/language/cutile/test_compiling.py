"""What comes of compiling a script in a process of its own, when the script does something unexpected."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileir.serve.language.cutile.compilation import CompiledLaunch, compile_script
from tileir.serve.language.cutile.document import CutileDocument
from tileir.serve.language.cutile.script import stated_launches
from tileir.serve.language.server import TileServer
from tileir.serve.language.settings import Settings

pytest.importorskip("cuda.tile")
LAUNCH = [{"kernel": "k", "arguments": ["zeros:f32:64"]}]


@pytest.mark.long
@pytest.mark.parametrize(
    ("script", "line", "words"),
    [
        ("import nothing_there", 1, "the script cannot be imported: No module named 'nothing_there'"),
        ("import sys\nsys.exit(3)", 2, "the script cannot be imported: 3"),
        ("import os\nprint('x')\nos._exit(3)", 0, "not compiled: the process ended with status 3: x"),
        ("while True: pass", 0, "not compiled: it took more than 5 s"),
        (
            "import os, time\nif os.fork() == 0: time.sleep(60)\nwhile True: pass",
            0,
            "not compiled: it took more than 5 s",
        ),
        ("import cuda.tile as ct\ndef k(a): pass", 0, "the script has no kernel 'k'"),
        ("import cuda.tile as ct\n@ct.kernel\ndef k(a, b): pass", 0, "k takes 2 arguments (a, b), but 1 was given"),
        ("x = bytearray(1 << 40)", 1, "the script cannot be imported: MemoryError"),
    ],
)
def test_scripts_that_cannot_be_compiled_say_why(tmp_path: Path, script: str, line: int, words: str) -> None:
    path = tmp_path / "script.py"
    path.write_text(script + "\n")
    (launch,) = compile_script(str(path), LAUNCH, [], 5.0)
    (finding,) = launch.findings
    assert finding.line == line
    assert finding.message.startswith(words)


def test_launches_are_stated_in_comments() -> None:
    text = "# tileir: k --grid 4 --arg zeros:f32:8 --arg 3\n#tileir: m --arg 1\n# tileir: ignore[unused-value]\nx = 1  # y\n"
    first, second = stated_launches(text)
    assert first.words is not None and second.words is not None
    assert (first.kernel, first.words.grid, first.words.arguments) == ("k", (4,), ("zeros:f32:8", "3"))
    assert (second.kernel, second.words.arguments) == ("m", ("1",))
    (wrong,) = stated_launches("# tileir: k --arg file.npy\n")
    assert wrong.words is None
    assert wrong.error == "'file.npy': a comment names no files; give it on the command line"


def test_of_two_compilations_the_later_counts(monkeypatch, tmp_path):
    server = TileServer(lambda _: b"", lambda _: None)
    published = []
    monkeypatch.setattr(server, "publish", lambda document: published.append(document.compiled[0].kernel))
    monkeypatch.setattr(server, "_compile", lambda *_: None)
    server.settings = Settings(compile_scripts=True)
    text = "import cuda.tile as ct\n# tileir: double --grid 4 --arg zeros:f32:1024 --arg 256\n"
    document = CutileDocument((tmp_path / "k.py").as_uri(), text, 1)
    server.documents[document.uri] = document
    server.save(document.uri)
    server.save(document.uri)
    server.take_compiled(document, 2, document.text, [CompiledLaunch("later")])
    server.take_compiled(document, 1, document.text, [CompiledLaunch("earlier")])
    assert published == ["later"]
