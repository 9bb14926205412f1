"""Runs the tests and samples of a checkout with an emulated GPU: cutile-python's, TileGym's operators in cuTile or
(`--suite tilecpp`) in C++, or Triton's.

    python tests/bridge/checkout.py PATH --suite cutile [-n 2] [--sample 15] [--minutes 30] [--results FILE]

The checkout is used where it lies and not written to.  Every result is appended to the file of results at once: a run
that was stopped goes on where it was.  The Python that runs this (or `--python`) has cuda-tile or
Triton, torch, pytest, pytest-xdist and tileir; it is enough that tileir is on PYTHONPATH.

This file is also the pytest plugin of such a run: it leaves out what the rules below name, and limits time and memory.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import importlib.util
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

# What is left out, and why: each rule is a pattern for the names of tests.  Everything else has to pass.
RULES: dict[str, list[tuple[str, str]]] = {
    "cutile": [
        (r"(^|/)bench_", "measures how fast a GPU is"),
        (
            r"test_export_compat\.py::test_export_compat_(cutile_python_v\d|static_shape)",
            "loads a cubin with the CUDA driver",
        ),
        (r"test_debug\.py::test_crash_dump", "is about failures of NVIDIA's assembler"),
        (r"test_launch_on_different_devices", "watches how cubins are compiled, device by device"),
        (r"test_tune\.py::test_skips_failed_configs", "makes an exception as no published cuda-tile does"),
    ],
    "tilegym": [
        (r"::test_perf", "measures how fast a GPU is"),
        (r"[\[-](cutile[_-]rs|tilecpp|triton)[\]-]", "is about kernels in other languages than cuTile's Python"),
    ],
    "tilecpp": [],
    # By its path: as a plugin, this file is in no package.
    "triton": runpy.run_path(str(Path(__file__).parent / "triton" / "exceptions_of_triton.py"))["EXCEPTIONS"],
}
# The tests of August 2026 go with cuda-tile 1.6.  These use what is private to it, or expect its words.
RULES_FROM_1_7 = [
    (pattern, "is written for cuda-tile 1.6, and a newer one is installed")
    for pattern in (
        r"test_float_encoding\.py",
        r"test_print\.py",
        r"test_num_worker_warps_rejects_invalid",
        r"test_compile_emits_unique_linkages_with_correct_call_site_chain",
        r"test_tune\.py::test_exhaustive_search_(returns_best|skips_slow_configs)",
        r"test_tune\.py::test_tune_(list_of_arrays|scalar_only)_ipc",
        r"test_tune\.py::test_ipc_(skip_cache_and_recompile_kernel|export_none_falls_back)",
    )
]
TARGETS = {
    "cutile": ("test", "samples"),
    "tilegym": ("tests/ops",),
    "tilecpp": ("tests/ops",),
    "triton": ("python/test/unit/language", "python/tutorials"),
}
# Of a suite with a plugin of its own: its folder below `tests`, its name, and pytest's options.
PLUGINS = {
    # The plugin collects tutorials: as modules of tests they would run whenever they are imported.
    "triton": ("bridge/triton", "triton_checkout", "-o", "python_files=test_*.py"),
    "tilecpp": ("cpp", "tilegym_kernels", "-k", "tilecpp and not perf"),
}

_VARIABLE = "TILEIR_CHECKOUT_RUN"
_OVER_TIME = "takes more than the time that a test has"
_OUT_OF_MEMORY = re.compile(
    r"can't allocate memory|MemoryError|not enough memory|more memory than there is|Unable to allocate"
)


# --- the plugin ---


class _Run:
    """What the processes of a run are told."""

    def __init__(self) -> None:
        told = json.loads(os.environ[_VARIABLE])
        self.suite: str = told["suite"]
        self.sample: int = told["sample"]
        self.left_out: bool = told["left_out"]
        self.seconds: float = told["seconds"]
        self.gibibytes: float = told["gibibytes"]
        self.end: float = told["end"]
        self.results: Path = Path(told["results"])
        self.done: set[str] = set(json.loads(Path(told["done"]).read_text(encoding="utf-8")))


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    # Not asked of the manager: plugins of entry points are loaded after this one.
    if importlib.util.find_spec("pytest_benchmark") is None:
        pluginmanager.add_hookspecs(_BenchmarkHooks)


class _BenchmarkHooks:
    """Those of pytest-benchmark that the checkout has functions for."""

    @pytest.hookspec()
    def pytest_benchmark_update_machine_info(self, config: pytest.Config, machine_info: object) -> None: ...

    @pytest.hookspec()
    def pytest_benchmark_update_json(self, config: pytest.Config, benchmarks: object, output_json: object) -> None: ...


def pytest_configure(config: pytest.Config) -> None:
    run = _Run()
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        import resource

        size = int(run.gibibytes * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    config.pluginmanager.register(_End(run.end))


def _left_out(suite: str, test: str) -> str | None:
    """Why a test is."""
    rules = RULES[suite]
    if suite == "cutile":
        import cuda.tile

        if tuple(int(part) for part in cuda.tile.__version__.split(".")[:2]) >= (1, 7):
            rules = rules + RULES_FROM_1_7
    return next((why for pattern, why in rules if re.search(pattern, test)), None)


class _End:
    """Runs no more tests when the time of the run is over: they have no result, and the next run goes on with them."""

    def __init__(self, end: float) -> None:
        self.end: float = end

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> bool | None:
        return True if time.time() > self.end else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    run = _Run()
    kept = []
    for item in _sampled(items, run.sample):
        if item.nodeid in run.done:
            continue
        reason = _left_out(run.suite, item.nodeid)
        if run.left_out:
            if reason is None:
                continue
        elif reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"left out: {reason}"))
        kept.append(item)
    items[:] = kept


def _sampled(items: list[pytest.Item], size: int) -> list[pytest.Item]:
    """The tests, with at most `size` of those of one function; a larger sample has all of a smaller one."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {id(each) for group in functions.values() for each in sorted(group, key=_order)[: size or len(group)]}
    return [each for each in items if id(each) in kept]


def _order(item: pytest.Item) -> bytes:
    """Random, and the same in every run."""
    return hashlib.blake2b(item.nodeid.encode(), digest_size=8).digest()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    run = _Run()

    def end(number: int, frame: object) -> None:
        raise pytest.fail.Exception(_OVER_TIME, pytrace=False)

    # Time of the processors, which a busy machine does not spend on others.
    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, run.seconds)
    # Where something holds Python up, or a test waits for too long, its process ends, and xdist starts another one.
    faulthandler.dump_traceback_later(15 * run.seconds, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        run = _Run()
        if report.nodeid in run.done:
            return
        reason = _left_out(run.suite, report.nodeid)
        why = f"left out: {reason}" if reason else str(report.longrepr).strip().rpartition("\n")[2]
        _write(run, report.nodeid, "skipped" if reason else "failed", why, 0.0)


def _write(run: _Run, test: str, outcome: str, why: str, seconds: float, sources: Sequence[str] = ()) -> None:
    entry = {"test": test, "outcome": outcome, "why": why, "seconds": round(seconds, 2), "sources": sources}
    with run.results.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # With xdist both the worker and the one who started it see reports.
    if "PYTEST_XDIST_WORKER" in os.environ or (report.when != "call" and report.passed):
        return
    sources = [str(value) for name, value in report.user_properties if name == "source"]
    _write(_Run(), report.nodeid, _outcome(report), _why(report), report.duration, sources)


def _outcome(report: pytest.TestReport) -> str:
    if report.skipped:
        return "xfailed" if hasattr(report, "wasxfail") else "skipped"
    if report.passed:
        return "passed"
    why = _why(report)
    if "CppError" in why:
        return "refused"
    if _OVER_TIME in why:
        return "over time"
    return "out of memory" if _OUT_OF_MEMORY.search(why) else "failed"


def _why(report: pytest.TestReport) -> str:
    if report.passed:
        return next((str(value) for name, value in report.user_properties if name == "left out"), "")
    told: Any = report.longrepr
    if isinstance(told, tuple):
        return str(told[2]).removeprefix("Skipped: ")
    crash = getattr(told, "reprcrash", None)
    return str(crash.message if crash is not None else told)[:600]


# --- the run ---


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="the checkout")
    parser.add_argument("--suite", choices=tuple(RULES), default="cutile")
    parser.add_argument("-n", type=int, default=1, help="processes")
    parser.add_argument("--sample", type=int, default=0, metavar="K", help="up to K tests of each function, at random")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="of processor time that a test may take (default: 60)"
    )
    parser.add_argument("--gibibytes", type=float, default=8.0, help="that a process may take (default: 8)")
    parser.add_argument("--minutes", type=float, default=1e6, help="after which the run ends and is summed up")
    parser.add_argument("--gpu", default="b200")
    parser.add_argument("--results", type=Path, help="the file of results, one line of JSON for each test")
    parser.add_argument("--again", default="", metavar="OUTCOME", help="run tests with this outcome once more")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="", metavar="PATHS", help="files of the checkout, instead of all")
    parser.add_argument("--left-out", action="store_true", help="run only what the rules leave out, to check them")
    parser.add_argument("--summary", action="store_true", help="run nothing: only sum up")
    given = parser.parse_args()
    results: Path = (given.results or Path(tempfile.gettempdir()) / f"tileir_{given.suite}.jsonl").absolute()
    results.touch()
    if given.again:
        kept = [
            line
            for line in results.read_text(encoding="utf-8").splitlines()
            if json.loads(line)["outcome"] != given.again
        ]
        results.write_text("".join([line + "\n" for line in kept]), encoding="utf-8")
    if not given.summary:
        _run(given, results)
    return _sum_up(results)


def _run(given: argparse.Namespace, results: Path) -> None:
    checkout = given.checkout.absolute()
    end = time.time() + 60 * given.minutes
    with tempfile.TemporaryDirectory() as folder:
        done = Path(folder) / "done.json"
        done.write_text(json.dumps([entry["test"] for entry in _entries(results)]), encoding="utf-8")
        told = {
            "suite": given.suite,
            "sample": given.sample,
            "left_out": given.left_out,
            "seconds": given.seconds,
            "gibibytes": given.gibibytes,
            "end": end,
            "results": str(results),
            "done": str(done),
        }
        paths = [str(Path(__file__).absolute().parent)]
        plugin = PLUGINS.get(given.suite)
        if plugin is not None:
            paths.append(str(Path(__file__).absolute().parents[1] / plugin[0]))
        if given.suite in ("tilegym", "tilecpp"):
            paths.append(str(checkout / "src"))
        if not _answers(given.python, "'tileir.bridge.process' in sys.modules", TILEIR_EMULATE="1"):
            # The samples are processes of their own, for which an installed tileir has its `.pth` file.
            at_start = Path(__file__).absolute().parents[2] / "src" / "tileir_emulate.pth"
            (Path(folder) / "sitecustomize.py").write_text(at_start.read_text(encoding="utf-8"), encoding="utf-8")
            paths.append(folder)
        # They run in the checkout, where a relative path is another one.
        given_paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        paths += [os.path.abspath(path) for path in given_paths if path]
        threads = str(max(1, (os.cpu_count() or 1) // given.n))
        environment = {
            "TILEIR_THREADS": threads,
            "OMP_NUM_THREADS": threads,
            **os.environ,
            _VARIABLE: json.dumps(told),
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            # TileGym's own switch: what it would measure is not the GPU that it chooses for.
            "TILEGYM_DISABLE_AUTOTUNE": "1",
        }
        command = [
            given.python,
            "-m",
            "pytest",
            "-q",
            "--tb=short",
            "--continue-on-collection-errors",
            "-p",
            "no:cacheprovider",
            "-p",
            Path(__file__).stem,
        ]
        if not _answers(given.python, "any(e.name == 'tileir' for e in metadata.entry_points(group='pytest11'))"):
            command += ["-p", "tileir.bridge.pytest_plugin"]
        if given.suite != "triton" and not _answers(given.python, "util.find_spec('pytest_benchmark')"):
            # Which only the checkout's benchmarks need, and its options.
            command += ["-o", "addopts=--strict-markers"]
        command += ["--tileir", "--tileir-target", given.gpu]
        if plugin is not None:
            command += ["-p", *plugin[1:]]
        if given.n > 1:
            command += ["-n", str(given.n), "--dist", "worksteal", "--max-worker-restart", "1000"]
        targets = given.only.split() or [name for name in TARGETS[given.suite] if (checkout / name).exists()]
        for target in targets:
            # Each with its own configuration, as the checkout has it.
            _run_until(end + 2 * given.seconds, [*command, target], checkout, environment)


def _run_until(end: float, command: list[str], folder: Path, environment: dict[str, str]) -> None:
    process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True)
    try:
        process.wait(max(0.0, end - time.time()))
    except subprocess.TimeoutExpired:
        print("the time is over: tests that still run are ended, and have no result", flush=True)
    finally:
        if process.poll() is None:
            # With the processes that it started.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _answers(python: str, question: str, **environment: str) -> bool:
    text = f"import sys; from importlib import metadata, util; print(bool({question}))"
    command = [python, "-c", text]
    told = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return told.stdout.strip() == "True"


def _entries(results: Path) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for line in results.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        # The worst of a test and its fixtures.
        before = found.get(entry["test"])
        if before is None or before["outcome"] == "passed":
            found[entry["test"]] = entry
    return list(found.values())


def _sum_up(results: Path) -> int:
    entries = _entries(results)
    counts = Counter(entry["outcome"] for entry in entries)
    decided = counts["passed"] + counts["failed"]
    print(f"{len(entries)} tests: " + ", ".join([f"{count} {outcome}" for outcome, count in counts.most_common()]))
    if decided:
        print(f"{counts['passed']} of {decided} pass: {100 * counts['passed'] / decided:.2f} of 100")
    for outcome in ("failed", "refused", "over time", "out of memory", "passed", "skipped", "xfailed"):
        reasons = Counter(_class(entry["why"]) for entry in entries if entry["outcome"] == outcome)
        # Only those that have passed up to something.
        reasons.pop("", None)
        for reason, count in reasons.most_common():
            example = next(e["test"] for e in entries if e["outcome"] == outcome and _class(e["why"]) == reason)
            print(f"  {count:5} {outcome}: {reason}\n        as {example}")
    for source in sorted({source for entry in entries for source in entry.get("sources", ())}):
        of_source = Counter(entry["outcome"] for entry in entries if source in entry.get("sources", ()))
        print(f"  {source}: " + ", ".join([f"{count} {outcome}" for outcome, count in of_source.most_common()]))
    return 0 if not counts["failed"] else 1


def _class(why: str) -> str:
    """A reason without its numbers, so that like ones count together."""
    return re.sub(r"\d+(\.\d+)?", "N", why.strip().partition("\n")[0])[:160]


if __name__ == "__main__":
    sys.exit(main())
