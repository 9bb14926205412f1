"""Every block and command of the documentation is run, and prints what is shown; files that are named are there."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from generators.counts import words
from tests.documents import DOCUMENTS, PAGES, ROOT, Block, agrees, blocks, commands, sessions, steps
from tests.optional import needs

import tileir
from tileir.analyze.documentation.markdown import anchor
from tileir.execute.engine.registry import all_engines
from tileir.execute.gpu.tileiras.tool import why_missing
from tileir.execute.gpu.triton.toolchain import why_missing as why_no_triton
from tileir.passes.catalog import REGISTERED
from tileir.tools.commands import COMMANDS
from tileir.tools.drop_in.opt import run as run_opt
from tileir.tools.main import run

# Blocks that are not run here, by page and the beginning of their first line, and why.
NOT_RUN: dict[str, dict[str, str]] = {
    "README.md": {"pip install": "installs packages"},
    "docs/index.md": {"pip install": "installs packages"},
    "CONTRIBUTING.md": {"make demo": "installs packages", "src/tileir/": "the tree, see below"},
    "docs/reference/api.md": {">>> tileir.compile": "needs a Python without NumPy: tests/test_public_interface.py"},
    "docs/internals/architecture.md": {
        "src/tileir/": "the tree, see below",
    },
    "docs/internals/measurements.md": {
        "     ": "figures of a benchmark",
        "operations ": "figures of a benchmark",
        "work ": "figures of a benchmark",
    },
    "docs/reference/bytecode.md": {
        "file    :=": "a grammar",
        "section     :=": "a grammar",
        "functions:varint": "a grammar",
        "operation :=": "a grammar",
    },
    "docs/guide/cutile.md": {"import pytest": "needs the plugin: tests/bridge/test_pytest_plugin.py"},
    "docs/tools/lsp.md": {
        "pip install": "installs packages",
        "vim.opt.runtimepath": "needs Neovim: tests/editors/test_neovim.py",
        "local dap": "needs Neovim and nvim-dap",
        "autocmd User": "needs Vim and vim-lsp",
        "(add-to-list": "needs Emacs: tests/editors/test_emacs.py",
        "{": "settings of Zed",
    },
    "docs/guide/agents.md": {"import cuda.tile": "a whole script: tests/agent/test_server.py"},
    "docs/tools/mcp.md": {"pip install": "installs packages", "{": "settings of an agent"},
    "docs/guide/getting_started.md": {"python3 -m venv": "installs packages"},
    "docs/guide/gpu.md": {"import torch, tileir": "needs an NVIDIA GPU: tests/execute/gpu/test_choice_on_gpu.py"},
    "docs/tools/tune.md": {"import torch, tileir": "needs an NVIDIA GPU: tests/execute/gpu/triton/test_tuning.py"},
    "docs/guide/kernel_authors.md": {"pip install": "installs packages"},
    "docs/guide/triton_kernels.md": {"pip install": "installs packages"},
    "docs/guide/cpp_kernels.md": {"pip install": "installs packages"},
    "docs/tools/sanitizer.md": {"// grid ": "tests/execute/test_sanitizer_document.py"},
    "docs/tools/sweep.md": {"dask scheduler": "starts a cluster: tests/judging/test_dask.py"},
    "docs/internals/nvidia.md": {
        "    %": "tests/hardware/test_nvidia_page.py",
        "      %": "tests/hardware/test_nvidia_page.py",
    },
}
# What the blocks of a page take for granted.
GIVEN = {"docs/guide/cutile.md": "stream, grid, kernel, args = None, (8,), vector_add, (a, b, c)"}
ALL_BLOCKS = [block for page in PAGES for block in blocks(page)]


def reason(block: Block) -> str:
    """Why a block is not run; empty if it is."""
    known = NOT_RUN.get(block.page, {})
    return next((why for start, why in known.items() if block.first_line.startswith(start)), "")


def is_run(block: Block) -> bool:
    """Whether one of the tests below runs the block."""
    if block.language in ("console", "toml", "yaml"):
        return True
    if block.language in ("mlir", "python"):
        return not reason(block)
    return bool(commands(block))


@pytest.mark.parametrize("block", ALL_BLOCKS, ids=lambda block: f"{block.page}:{block.line}")
def test_a_block_is_run_or_says_why_not(block: Block) -> None:
    assert is_run(block) != bool(reason(block)), f"{block.page}, line {block.line}: {block.first_line}"


def test_no_exception_is_left_over() -> None:
    for page, exceptions in NOT_RUN.items():
        for start in exceptions:
            assert any(block.first_line.startswith(start) for block in blocks(page)), (page, start)


# --- Python ---


@pytest.fixture
def registered_passes() -> object:
    """Pages register passes; other tests do not want them."""
    known = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(known)


@pytest.fixture
def registered_engines() -> object:
    """Nor do they want engines: the explorer compares a launch with those of every engine."""
    known = {engine.name for engine in all_engines()[0]}
    yield
    for engine in all_engines()[0]:
        if engine.name not in known:
            tileir.backends.unregister_backend(engine.name)


@pytest.fixture
def checkout(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, which has the examples; what the pages show may write into build/ only."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "build").mkdir()
    monkeypatch.chdir(folder)
    yield folder
    assert sorted(path.name for path in folder.iterdir()) == ["build", "examples"]


@pytest.mark.usefixtures("checkout", "registered_passes", "registered_engines")
@pytest.mark.parametrize("page", [page for page in PAGES if any(b.language == "python" for b in blocks(page))])
def test_python_runs_and_prints_what_is_shown(page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks of a page, one after the other, in one namespace."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language != "python" or reason(block):
            continue
        if "cuda.tile" in block.text:
            pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
        if "import triton" in block.text:
            pytest.importorskip("triton", reason="Triton is not installed: pip install triton")
        if '.cu"' in block.text:
            needs("nvrtc")
        if "import torch" in block.text:
            pytest.importorskip("torch", reason="torch is not installed: pip install torch")
        if ".cubin(" in block.text and why_missing():
            pytest.skip("needs NVIDIA's assembler: pip install 'tileir[tileiras]'")
        # cuTile reads the source of kernels, so the code has to be in a file.
        file = tmp_path / f"line_{block.line}.py"
        file.write_text(block.text, encoding="utf-8")
        exec(compile(block.text, str(file), "exec"), names)
        printed = capsys.readouterr().out.replace(str(file), "kernel.py")
        assert agrees(printed, block.output or ""), f"{page}, line {block.line} prints\n{printed}"
        if block is next(b for b in blocks(page) if b.language == "python"):
            exec(GIVEN.get(page, ""), names)


# --- commands ---


def run_command(command: str) -> int:
    program, *arguments = shlex.split(command, comments=True)
    if program == "tileir-opt":
        return run_opt(arguments)
    assert program == "tileir"
    if arguments[0] == "compile" and "triton" in arguments:
        if why_no_triton():
            pytest.skip(why_no_triton())
    elif arguments[0] == "compile" and why_missing():
        pytest.skip("needs NVIDIA's assembler: pip install 'tileir[tileiras]'")
    if arguments[0] != "emulate" and not any(word.endswith(".py") for word in arguments):
        return run(arguments)
    # Scripts are emulated, and emulation lasts as long as a process does.
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
    pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    if "examples/triton_script.py" in arguments:
        needs("triton")
    code = "import sys; from tileir.tools.main import main; sys.exit(main())"
    package = Path(tileir.__file__).parents[1]  # the one under test, which may be the compiled one
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True)
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    return done.returncode


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("page", [p for p in PAGES if any(commands(block) or steps(block) for block in blocks(p))])
def test_commands_without_output_work_as_they_stand(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One after the other."""
    for block in blocks(page):
        for command in [] if reason(block) else commands(block) or steps(block):
            status = run_command(command)
            errors = capsys.readouterr().err
            assert status == 0 or (status == 1 and errors.startswith("sanitizer: ")), (command, errors)


CONSOLE = [
    pytest.param(command, output, id=f"{block.page}:{block.line} {command[:40]}")
    for block in ALL_BLOCKS
    if block.language == "console"
    for command, output in sessions(block)
]


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(("command", "output"), CONSOLE)
def test_commands_in_the_documents_print_what_is_shown(
    command: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(command)
    captured = capsys.readouterr()
    assert agrees(captured.out + captured.err, output), captured.out + captured.err


# --- other languages ---


@pytest.mark.parametrize("block", [b for b in ALL_BLOCKS if b.language == "mlir" and not reason(b)])
def test_shortened_programs_are_those_of_the_examples(block: Block) -> None:
    """The lines stand in an example in this order; `...` is where some are left out."""
    page = (ROOT / block.page).read_text(encoding="utf-8")
    named = re.findall(r"`(examples/\w+\.mlir)`", page.partition(block.text)[0])[-1]
    rest = (ROOT / named).read_text(encoding="utf-8").splitlines()
    for line in block.text.splitlines():
        if line.strip() != "...":
            assert line in rest, (named, line)
            rest = rest[rest.index(line) + 1 :]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python reads TOML from 3.11 on")
@pytest.mark.parametrize("block", [block for block in ALL_BLOCKS if block.language == "toml"])
def test_toml_is_toml(block: Block) -> None:
    import tomllib

    read = tomllib.loads(block.text)
    assert read
    for group, entries in read.get("project", {}).get("entry-points", {}).items():
        assert group in ("tileir.backends", "tileir.passes") and entries


@pytest.mark.parametrize("name", ["pictures", "terminal_pictures"], ids=["drawings", "terminals"])
def test_the_pictures_are_those_that_the_script_draws(name: str, tmp_path: Path) -> None:
    if name == "terminal_pictures":
        needs("cuda.tile")
        needs("torch")
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main([str(tmp_path)])
    drawn = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    kept = {
        path.name: path.read_text(encoding="utf-8")
        for path in (ROOT / "docs" / "pictures").glob("*.svg")
        if path.name.startswith("terminal_") == (name == "terminal_pictures")
    }
    assert kept == drawn, "run: make docs"


def test_pictures_are_shown_and_small() -> None:
    pages = "".join([(ROOT / page).read_text(encoding="utf-8") for page in PAGES])
    for path in (ROOT / "docs" / "pictures").iterdir():
        assert f"pictures/{path.name}" in pages
        assert path.stat().st_size <= 100_000, path.name


def test_the_first_pages_show_programs_and_commands() -> None:
    for page in ("README.md", "docs/guide/getting_started.md"):
        languages = [block.language for block in blocks(page)]
        assert "python" in languages and "console" in languages


def anchors(path: Path) -> set[str]:
    """What a link to a page can lead to: headings, as GitHub names them, and names that are given."""
    text = path.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {anchor(heading) for heading in headings} | set(re.findall(r'<a name="([^"]+)">', text))


@pytest.mark.parametrize("page", [*PAGES[:2], *DOCUMENTS])
def test_links_lead_to_files_and_headings(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target, place in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", re.sub(r"`[^`\n]*`", "", text)):
        path = (ROOT / page).parent / target if target else ROOT / page
        assert path.exists(), target
        assert not place or place in anchors(path), f"{target}#{place}"


# --- files that are named ---

# A path of a source, a page or a folder, in backquotes in a document; in the sources with a folder in front.
_IN_PAGES = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:py|pyi|md|toml)|[a-z_]+(?:/[a-z_]+)*/)`")
_IN_SOURCES = re.compile(r"(?<![\w/.<])((?:[a-z_]+/)+[a-z_]+\.(?:py|md))\b")


@functools.cache
def known_places() -> frozenset[str]:
    """Every file and folder of the repository by every ending of its path: `cpu/kernel.py`, `kernel.py`."""
    found: set[str] = set()
    for top in ("src", "generators", "tests", "docs", "benchmarks", "examples", "editors", ".ci"):
        for path in [ROOT / top, *(ROOT / top).rglob("*")]:
            if "__pycache__" not in path.parts and "node_modules" not in path.parts:
                parts = path.relative_to(ROOT).parts
                found.update("/".join(parts[start:]) for start in range(len(parts)))
    return frozenset([*found, *(path.name for path in ROOT.iterdir())])


@pytest.mark.parametrize("page", [*PAGES, "benchmarks/README.md", "tests/fuzz/README.md"])
def test_files_that_a_document_names_exist(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    missing = [name for name in _IN_PAGES.findall(text) if name.rstrip("/") not in known_places()]
    assert [name for name in missing if "NAME" not in name] == []


def test_files_that_the_sources_name_exist() -> None:
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "generators").glob("*.py")]):
        for name in _IN_SOURCES.findall(path.read_text(encoding="utf-8")):
            assert name in known_places(), f"{path.relative_to(ROOT)} speaks of {name}"


# --- pages as a whole ---

# What people write, in words; generated pages do not count.
MOST_WORDS = 60_000


def test_documents_stay_short() -> None:
    assert sum(words().values()) <= MOST_WORDS


@pytest.mark.parametrize("page", DOCUMENTS)
def test_lists_and_tables_have_a_blank_line_before_them(page: str) -> None:
    """GitHub needs none; the Markdown of the site makes one paragraph of both."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^(?!\s|[-*|] |\d+\. |\|).+\n(?:(?:[-*]|\d+\.) |\|).*", text, re.MULTILINE) == []


def test_every_variable_of_the_environment_is_described() -> None:
    page = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    described = set(re.findall(r"`([A-Z][A-Z_]+)`", page))
    sources = [*(ROOT / "src").rglob("*.py"), ROOT / "src" / "tileir_emulate.pth", ROOT / "hatch_build.py"]
    texts = [path.read_text(encoding="utf-8") for path in sources]
    ours = {name for text in texts for name in re.findall(r"\bTILEIR_[A-Z_]+\b", text)}
    # Processes of tileir tell each other with it.
    ours.remove("TILEIR_DAP_GREETED")
    assert {name for name in described if name.startswith("TILEIR_")} == ours
    named = {
        name for each in PAGES for name in re.findall(r"\bTILEIR_[A-Z_]+\b", (ROOT / each).read_text(encoding="utf-8"))
    }
    # Those of the tests.
    assert named - {"TILEIR_CHROMIUM", "TILEIR_SOAK_SECONDS", "TILEIR_TRITON_VERSIONS"} == ours
    read = {name for text in texts for name in re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", text)}
    passed_on = {"PYTHONPATH", "PROCESSOR_ARCHITECTURE", "TRITON_DISABLE_LINE_INFO"}
    assert read - {"TILEIR_DAP_GREETED"} - passed_on <= described


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_that_names_it(command: str) -> None:
    page = (ROOT / "docs" / "tools" / f"{command}.md").read_text(encoding="utf-8")
    assert f"`tileir {command}" in page
    assert f"[`{command}`]({command}.md)" in (ROOT / "docs" / "tools" / "command_line.md").read_text(encoding="utf-8")


def test_navigation_of_the_site_has_every_page() -> None:
    entries = re.findall(r"^ +- (?:[\w ]+: )?([\w/]+(?:\.md|/))$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    folders = tuple(f"docs/{entry}" for entry in entries if entry.endswith("/"))
    named = {f"docs/{entry}" for entry in entries if entry.endswith(".md") and not entry.startswith("repository/")}
    assert sorted(named) == [page for page in DOCUMENTS if not page.startswith(folders)]
