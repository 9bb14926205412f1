"""The engine interface: a third engine, unknown to the product, goes through it like tileir's own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir
from tileir.dialect.ops import FOR
from tileir.execute.engine import registry as engines
from tileir.tools import main as tool

PROGRAM = """
cuda_tile.module @m {
  global @seen <i32: [7]> : tile<1xi32>
  entry @first(%p: tile<ptr<i32>>) {
    %one = constant <i32: 1> : tile<i32>
    %two = addi %one, %one : tile<i32>
    return
  }
  entry @second(%p: tile<ptr<i32>>) { return }
  entry @looping(%p: tile<ptr<i32>>) {
    %one = constant <i32: 1> : tile<i32>
    for %i in (%one to %one, step %one) : tile<i32> { continue }
    return
  }
}
"""


class ToyKernel(tileir.backends.PreparedKernel):
    """Does not run a kernel: counts in its first array what there would be to run."""

    def __init__(self, entry: tileir.Operation, globals: dict[str, Any]) -> None:
        self.entry = entry
        self.globals = globals
        self.seen: list[tileir.backends.LaunchOptions] = []

    def launch(self, grid: Any, arguments: tuple[Any, ...], options: tileir.backends.LaunchOptions) -> None:
        self.seen.append(options)
        arguments[0][:] += grid[0] * grid[1] * grid[2] * len(list(self.entry.regions[0].blocks[0]))
        if options.output is not None:
            options.output(", ".join(self.globals))

    def dump(self, stage: str, *, sanitize: bool = False, unchecked: bool = False) -> str:
        names = [operation.declaration.mnemonic for operation in self.entry.regions[0].blocks[0]]
        return "".join([f"{name}\n" for name in (names if stage == "names" else reversed(names))])


class Toy(tileir.backends.Backend):
    name = "toy"
    summary = "counts operations"
    stages = ("names", "backwards")

    def __init__(self, missing: str = "") -> None:
        self.absent = missing
        self.settings: list[tileir.backends.KernelSettings] = []

    def missing(self) -> str:
        return self.absent

    def facts(self) -> dict[str, str]:
        return {"version": "3"}

    def refusal(self, entry: tileir.Operation, options: tileir.backends.LaunchOptions) -> str:
        if any(operation.declaration is FOR for operation in entry.regions[0].blocks[0]):
            return "toys have no loops: compile with backend='cpu'"
        return super().refusal(entry, options)

    def prepare(
        self, entry: tileir.Operation, globals: dict[str, Any], settings: tileir.backends.KernelSettings
    ) -> tileir.backends.PreparedKernel:
        self.settings.append(settings)
        return ToyKernel(entry, globals)


@pytest.fixture
def toy() -> Iterator[Toy]:
    engine = Toy()
    tileir.backends.register_backend(engine)
    yield engine
    tileir.backends.unregister_backend("toy")


def compiled(entry: str = "first", backend: str = "toy", **options: Any) -> tileir.Kernel:
    return tileir.compile(tileir.parse(PROGRAM), entry=entry, backend=backend, **options)


def array() -> Any:
    return numpy.zeros(2, numpy.int32)


# --- a third engine ---


def test_an_engine_that_is_registered_runs_kernels(toy: Toy) -> None:
    counted = array()
    words: list[str] = []
    kernel = compiled(fast=True)
    assert (kernel.backend, kernel.requested_backend) == ("toy", "toy")
    kernel.launch(5, (counted,))
    kernel.launch(1, (counted,), output=words.append)
    kernel.sibling("second").launch(100, (counted,))
    assert counted.tolist() == [5 * 3 + 3 + 100] * 2
    assert words == ["seen"]
    # Prepared once for each kernel, with what `compile` was told.
    assert [settings.fast for settings in toy.settings] == [True, True]


class Three:
    def __index__(self) -> int:
        return 3


def test_an_engine_gets_the_options_of_a_launch_checked(toy: Toy) -> None:
    kernel = compiled(unchecked=True)
    kernel.launch(1, (array(),))
    three: Any = Three()
    kernel.launch(1, (array(),), threads=three, unchecked=False, memory=iter([array()]))
    with pytest.raises(tileir.LaunchError, match="pass 1 to"):
        kernel.launch(1, (array(),), threads=0)
    prepared = kernel._prepared[toy]
    assert isinstance(prepared, ToyKernel)
    first, second = prepared.seen
    assert (first.unchecked, first.threads, first.memory, first.schedule) == (True, None, (), "forward")
    assert (second.unchecked, second.threads, len(second.memory)) == (False, 3, 1)


def test_an_engine_says_why_it_does_not_run_a_kernel(toy: Toy) -> None:
    with pytest.raises(tileir.LaunchError, match="toys have no loops: compile with backend='cpu'"):
        compiled("looping").launch(1, (array(),))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sanitize": True}, "the backend 'toy' does not look for errors: compile with backend='interpreter'"),
        ({"sanitize": "all"}, "the backend 'toy' does not look for errors: compile with backend='interpreter'"),
        ({"observer": tileir.sanitizer.Sanitizer()}, "observers and schedules are the interpreter's"),
        ({"observer": tileir.observers.Observer()}, "observers and schedules are the interpreter's"),
        ({"schedule": "reverse"}, "observers and schedules are the interpreter's"),
    ],
)
def test_what_an_engine_does_not_say_it_has_is_refused(options: Any, words: str, toy: Toy) -> None:
    counted = array()
    with pytest.raises(tileir.LaunchError, match=words):
        compiled().launch(1, (counted,), **options)
    assert not counted.any()


def test_an_engine_shows_its_stages(toy: Toy) -> None:
    kernel = compiled()
    assert kernel.dump("names") == "constant\naddi\nreturn\n"
    assert kernel.dump("backwards") == "return\naddi\nconstant\n"
    with pytest.raises(tileir.LaunchError, match="no stage 'asm' to dump: choose one of names, backwards"):
        kernel.dump("asm")
    with pytest.raises(tileir.LaunchError, match="the interpreter has no code to show"):
        compiled(backend="interpreter").dump("names")


def test_a_launch_on_an_engine_without_overlap_comes_after_those_under_way(toy: Toy) -> None:
    pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")
    store = """
    cuda_tile.module @m {
      entry @k(%p: tile<ptr<i32>>) {
        %v = constant <i32: 40> : tile<i32>
        %t = store_ptr_tko weak %p, %v : tile<ptr<i32>>, tile<i32> -> token
        return
      }
    }
    """
    counted = array()
    with tileir.kernels.overlap():
        tileir.compile(tileir.parse(store), backend="cpu").launch(1, (counted,))
        compiled().launch(1, (counted,))
        assert counted.tolist() == [43, 3]


def test_an_engine_that_suits_is_taken_by_auto(monkeypatch: pytest.MonkeyPatch, toy: Toy) -> None:
    before = compiled(backend="auto")
    assert before.backend in ("cpu", "interpreter")
    monkeypatch.setattr(toy, "suits", lambda entry, arguments, options: not options.sanitize)
    assert compiled(backend="auto").backend == "toy"
    monkeypatch.setattr(toy, "absent", "its batteries are flat")
    assert compiled(backend="auto").backend == before.backend


def test_tileir_run_takes_any_engine(toy: Toy, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "k.mlir"
    file.write_text(PROGRAM)

    def run(*options: str, entry: str = "first") -> tuple[int, str, str]:
        status = tool.run(["run", str(file), "--entry", entry, "--arg", "zeros:i32:2", "--backend", "toy", *options])
        return status, *capsys.readouterr()

    # The kernel writes nothing as far as its text goes, so nothing is summed up.
    target = tmp_path / "counted.npy"
    assert run("--grid=4", "-o", f"0={target}") == (0, "", "")
    assert numpy.load(target).tolist() == [12, 12]
    assert run("--dump=names") == (0, "constant\naddi\nreturn\n", "")
    assert run(entry="looping") == (1, "", "error: toys have no loops\nhelp: compile with backend='cpu'\n")
    for options, words in (
        (["--sanitize"], "--sanitize is for the interpreter\nhelp: add --backend interpreter"),
        (["--trace=0"], "--trace is for the interpreter\nhelp: add --backend interpreter"),
        (["--threads=2"], "--threads is for the CPU backend\nhelp: add --backend cpu"),
    ):
        assert run(*options) == (2, "", f"error: {words}\n")


# --- names ---


def test_an_engine_that_fails_when_it_is_asked_cannot_work(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise RuntimeError("no driver")

    monkeypatch.setattr(toy, "missing", broken)
    with pytest.raises(tileir.LaunchError, match=r"no backend 'abacus'.*toy cannot work here: RuntimeError: no driver"):
        compiled(backend="abacus")
    with pytest.raises(tileir.MissingDependencyError, match="RuntimeError: no driver"):
        compiled(backend="toy").launch(1, (array(),))


def test_an_unknown_name_is_told_with_those_there_are(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toy, "absent", "its batteries are flat")
    with pytest.raises(tileir.LaunchError) as caught:
        compiled(backend="abacus")
    # On a machine without a GPU it is said why those for one cannot work.
    names, *_, reason = caught.value.message.split("; ")
    assert names == "there is no backend 'abacus': choose one of auto, cpu, interpreter, tileiras, triton, toy"
    assert reason == "toy cannot work here: its batteries are flat"


def test_an_engine_that_is_not_here_says_what_to_do(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toy, "absent", "it needs batteries: buy some")
    kernel = compiled()
    with pytest.raises(
        tileir.LaunchError,
        match="'toy' cannot work here: it needs batteries: buy some, or choose the interpreter: backend='interpreter', or --backend interpreter",
    ):
        kernel.launch(1, (array(),))


@pytest.mark.parametrize("name", ["auto", "cpu", "interpreter"])
def test_names_of_tileir_are_not_given_away(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Toy, "name", name)
    with pytest.raises(tileir.LaunchError, match=f"'{name}' is one of tileir's own backends"):
        tileir.backends.register_backend(Toy())


def test_what_is_no_engine_is_not_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: Any = Toy
    with pytest.raises(tileir.LaunchError, match="is not a backend: pass an instance"):
        tileir.backends.register_backend(wrong)
    monkeypatch.setattr(Toy, "name", "two words")
    with pytest.raises(tileir.LaunchError, match="an identifier such as 'cpu', not 'two words'"):
        tileir.backends.register_backend(Toy())
    with pytest.raises(tileir.LaunchError, match="no backend 'toy' is registered"):
        tileir.backends.unregister_backend("toy")


@pytest.mark.parametrize(
    ("member", "value", "words"),
    [
        (
            "options",
            frozenset({"sanitise"}),
            "the backend 'toy' has the option 'sanitise': there are cpu, cubin, exact, fast",
        ),
        ("options", "exact", "the options of the backend 'toy' are 'exact': give a set or tuple of strings"),
        ("stages", 3, "the stages of the backend 'toy' are 3: give"),
        ("stages", (3,), "the stages of the backend 'toy' are "),
    ],
)
def test_an_engine_that_says_what_makes_no_sense_is_not_registered(
    member: str, value: object, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Toy, member, value)
    with pytest.raises(tileir.LaunchError, match=words):
        tileir.backends.register_backend(Toy())


def test_an_engine_that_does_not_do_what_it_says_is_named(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bare(tileir.backends.PreparedKernel):
        def launch(self, grid: Any, arguments: Any, options: Any) -> None: ...

    prepared: list[Any] = [None, Bare(), Bare()]
    monkeypatch.setattr(Toy, "prepare", lambda *_: prepared.pop(0))
    monkeypatch.setattr(Toy, "options", frozenset({"sanitize"}))
    monkeypatch.setattr(Toy, "stages", ("code",))
    with pytest.raises(tileir.LaunchError, match="'toy' prepares None, and not a tileir"):
        compiled().launch(1, (array(),))
    with pytest.raises(tileir.LaunchError, match="reports that it shows 'code', and its kernels cannot"):
        compiled().dump("code")
    with pytest.raises(tileir.LaunchError, match="reports that it sanitizes, and its kernels cannot"):
        compiled().launch(1, (array(),), sanitize=True)


def test_an_engine_registered_again_replaces_itself_for_new_kernels(toy: Toy) -> None:
    old = compiled()
    new = Toy("it is gone")
    tileir.backends.register_backend(new)
    old.launch(1, (array(),))
    with pytest.raises(tileir.LaunchError, match="it is gone"):
        compiled().launch(1, (array(),))


# --- packages that bring an engine ---

INSTALLED = """
from tests.execute.test_engines import Toy

class Installed(Toy):
    name = "installed"

broken = None
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package as pip would install it."""
    (tmp_path / "toy_engines.py").write_text(INSTALLED)
    described = tmp_path / "toy_engines-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-engines\nVersion: 1\n")
    (described / "entry_points.txt").write_text(
        "[tileir.backends]\ninstalled = toy_engines:Installed\nbroken = toy_engines:broken\n"
        "absent = toy_engines:nothing\nother = toy_engines:Installed\nleaving = leaving_engine:nothing\n"
    )
    (tmp_path / "leaving_engine.py").write_text("raise SystemExit(4)\n")
    return tmp_path


@pytest.fixture
def installed(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(package))
    yield
    sys.modules.pop("toy_engines", None)
    engines._installed.pop("installed", None)


@pytest.mark.usefixtures("installed")
def test_an_installed_engine_is_found_by_its_name() -> None:
    counted = array()
    compiled(backend="installed").launch(2, (counted,))
    assert counted.tolist() == [6, 6]
    for name, words in (
        ("broken", "the backend 'broken' of toy_engines:broken cannot be loaded: TypeError"),
        ("absent", "the backend 'absent' of toy_engines:nothing cannot be loaded: AttributeError"),
        ("leaving", "the backend 'leaving' of leaving_engine:nothing cannot be loaded: SystemExit: 4"),
        ("other", "the backend 'other' of toy_engines:Installed cannot be loaded: it is named 'installed' there"),
    ):
        with pytest.raises(tileir.LaunchError, match=words):
            compiled(backend=name)


@pytest.mark.usefixtures("installed")
def test_an_engine_that_is_listed_or_named_takes_no_part_in_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    before = compiled(backend="auto").backend
    found, _ = engines.all_engines()
    (listed,) = [engine for engine in found if engine.name == "installed"]
    monkeypatch.setattr(listed, "suits", lambda entry, arguments, options: True)
    assert engines.find_engine("installed") is listed is engines.all_engines()[0][-1]
    assert compiled(backend="auto").backend == before
    with pytest.raises(tileir.LaunchError, match="no backend 'installed' is registered"):
        tileir.backends.unregister_backend("installed")
    tileir.backends.register_backend(listed)
    assert compiled(backend="auto").backend == "installed"
    tileir.backends.unregister_backend("installed")
    assert compiled(backend="auto").backend == before


@pytest.mark.parametrize("place", ["prepare", "launch", "dump"])
def test_what_an_engine_raises_is_one_line_of_tileir_run(
    place: str, toy: Toy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.mlir"
    file.write_text(PROGRAM)

    def fail(*_given: object, **_named: object) -> None:
        raise ValueError("no batteries")

    monkeypatch.setattr(Toy if place == "prepare" else ToyKernel, place, fail)
    options = ["--dump", "names"] if place == "dump" else []
    arguments = ["run", str(file), "--entry", "first", "--arg", "zeros:i32:2", "--backend", "toy", *options]
    assert tool.run(arguments) == 1
    assert capsys.readouterr().err == "error: the backend 'toy' failed: ValueError: no batteries\n"
    # Who calls it from Python gets what it raises.
    with pytest.raises(ValueError, match="no batteries"):
        compiled().dump("names") if place == "dump" else compiled().launch(1, (array(),))


def test_an_installed_engine_runs_from_the_command_line(package: Path) -> None:
    file = package / "k.mlir"
    file.write_text(PROGRAM)
    root = Path(__file__).parents[2]
    environment = {"PYTHONPATH": f"{root / 'src'}:{root}:{package}"}
    command = [sys.executable, "-m", "tileir", "run", str(file), "--entry=first", "--arg=zeros:i32:1"]
    out = ["--grid=9", f"--output=0={package / 'counted.npy'}", "--backend=installed"]
    subprocess.run([*command, *out], env=environment, check=True)
    assert numpy.load(package / "counted.npy").tolist() == [27]


@pytest.mark.usefixtures("installed", "toy")
def test_tileir_info_lists_engines_and_why_one_cannot_work(capsys: pytest.CaptureFixture[str]) -> None:
    tileir.backends.register_backend(Toy("it needs batteries"))
    assert tool.run(["info"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].startswith("tileir ")
    names = [line.split()[0] for line in lines[lines.index("backends:") + 1 :] if line]
    assert [name for name in names if name in ("cpu", "interpreter", "toy", "installed")] == [
        "cpu", "interpreter", "toy", "installed",
    ]  # fmt: skip
    assert f"NumPy: {numpy.__version__}" in lines
    assert lines[lines.index("toy          counts operations") + 1] == "cannot work here: it needs batteries"
    assert lines[lines.index("installed    counts operations") + 1] == "version: 3"
    assert any(line.startswith("broken       the backend 'broken' of toy_engines:broken cannot") for line in lines)


def test_tileir_info_and_the_list_of_engines_need_no_numpy() -> None:
    program = (
        "import sys\n"
        "sys.modules['numpy'] = sys.modules['llvmlite'] = None\n"
        "from tileir.tools import main\n"
        "sys.exit(main.run(['info']))\n"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "cannot work here: it needs NumPy and ml_dtypes: pip install 'tileir[run]'" in output
    assert "cannot work here: it needs llvmlite: pip install 'tileir[cpu]'" in output


def test_entry_points_are_not_looked_at_without_need() -> None:
    program = (
        "import sys, tileir\n"
        "kernel = tileir.compile(tileir.parse('cuda_tile.module @m { entry @k() { return } }'), backend='interpreter')\n"
        "kernel.launch(1)\n"
        "print('importlib.metadata' in sys.modules)\n"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output == "False\n"
