"""The pytest plugin: `pytest --tileir` runs a project's GPU tests on a machine without one.

Loaded by every pytest of an environment that has tileir, so nothing is imported here that is not needed; what it adds
acts only on request: by option, marker or fixture.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tileir.bridge.settings import InvalidSettings, Settings, settings_of

_PROPERTY: Final = "tileir"
_SETTINGS: Final = pytest.StashKey[Settings]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tileir", "kernels of cuTile and Triton without a GPU (tileir)")
    group.addoption(
        "--tileir",
        nargs="?",
        const="always",
        choices=("always", "auto"),
        help="emulate a GPU in all tests; =auto: only where there is none",
    )
    group.addoption("--tileir-target", metavar="NAME", help="the GPU that tests find, as h100 or sm_90")
    group.addoption("--tileir-backend", metavar="NAME", help="what runs kernels: cpu or interpreter")
    group.addoption(
        "--tileir-sanitize",
        nargs="?",
        const="errors",
        choices=("errors", "all"),
        help="look for errors in every launch; a test with findings fails",
    )
    group.addoption(
        "--tileir-names", choices=("script", "tile"), help="whose names reports have: the script's or the program's"
    )
    group.addoption("--tileir-watch-nan", action="store_true", help="fail where a kernel makes a NaN or an infinity")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before a conftest looks for a GPU."""
    given = early_config.known_args_namespace
    when = getattr(given, "tileir", None)
    if when is None:
        return
    if when == "auto":
        from tileir.bridge.contexts import has_gpu

        if has_gpu():
            return
    from tileir.bridge.process import begin, check_gpu

    try:
        settings = settings_of(_options(given))
        check_gpu(settings)
    except InvalidSettings as mistake:
        raise pytest.UsageError(f"--tileir: {mistake}") from None
    begin(settings, collects=False)
    early_config.stash[_SETTINGS] = settings


def _options(given: Any) -> list[tuple[str, str | None]]:
    names = ("target", "backend", "sanitize", "names", "watch-nan")
    values = [(name, getattr(given, f"tileir_{name.replace('-', '_')}", None)) for name in names]
    return [(name, None if value is True else value) for name, value in values if value not in (None, False)]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "tileir(**options): run this test in a tileir.emulate context, with options as target='b200' or sanitize=True",
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    settings = config.stash.get(_SETTINGS, None)
    if settings is None:
        return None
    from tileir.execute.gpu.gpus import DEFAULT, gpu_named

    gpu = gpu_named(settings.target or DEFAULT)
    return f"tileir: kernels run on this machine, which emulates an {gpu.name} ({gpu.architecture})"


@pytest.fixture
def tileir_emulation(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The test runs in a `tileir.emulate` context, with the options of its marker `tileir`; yields the context."""
    from tileir.bridge.contexts import active
    from tileir.bridge.emulate import emulate

    options: dict[str, Any] = {}
    # The closest marker counts, which comes first.
    for marker in reversed(list(request.node.iter_markers("tileir"))):
        options |= marker.kwargs
    with emulate(**options):
        yield active()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        # A fixture, so that the other fixtures of the test find the GPU as well.
        names = getattr(item, "fixturenames", None)
        if names is not None and "tileir_emulation" not in names and item.get_closest_marker("tileir") is not None:
            names.insert(0, "tileir_emulation")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    here, natively = _launches()
    yield
    here_after, natively_after = _launches()
    launched = {"here": here_after > here, "on the GPU": natively_after > natively}
    item.user_properties += [(_PROPERTY, where) for where, is_used in launched.items() if is_used]


def _launches() -> tuple[int, int]:
    """How many launches were made here, and on a GPU."""
    module: Any = sys.modules.get("tileir.bridge.entry_points")
    return (0, 0) if module is None else (module.LAUNCHES.here, module.LAUNCHES.natively)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    if call.excinfo is not None:
        _hide_own_frames(item, call.excinfo)
    outcome: Any = yield
    if call.excinfo is not None and "tileir.execute.errors" in sys.modules:
        from tileir.execute.errors import LaunchError

        if isinstance(call.excinfo.value, LaunchError):
            report = outcome.get_result()
            report.user_properties.append((_PROPERTY, f"could not: {call.excinfo.value.message}"))


def _hide_own_frames(item: pytest.Item, failure: pytest.ExceptionInfo[BaseException]) -> None:
    """Show the user's lines of a test that is emulated, unless pytest is to show all."""
    is_emulated = _SETTINGS in item.config.stash or "tileir_emulation" in getattr(item, "fixturenames", ())
    if is_emulated and not item.config.option.fulltrace:
        from tileir.bridge.frames import hide_own_frames

        hide_own_frames(failure.value)
        failure.traceback = type(failure.traceback)(failure.value.__traceback__ or ())


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    where: dict[str, set[str]] = {}
    tests: set[str] = set()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if not isinstance(report, pytest.TestReport):
                continue
            if report.when == "call":
                tests.add(report.nodeid)
            for name, value in report.user_properties:
                if name == _PROPERTY:
                    where.setdefault(str(value), set()).add(report.nodeid)
    if not where and config.stash.get(_SETTINGS, None) is None:
        return
    # Imported here: a run of tests without kernels pays for nothing.
    from tileir.ir.quoting import several

    here, natively = where.pop("here", set()), where.pop("on the GPU", set())
    terminalreporter.section("tileir")
    count = len(tests - here - natively)
    terminalreporter.line(
        f"{several(len(here), 'test')} launched kernels here, {len(natively)} on a GPU, {count} launched none"
    )
    for reason, names in sorted(where.items()):
        terminalreporter.line(f"{several(len(names), 'test')} {reason.partition(chr(10))[0]}")
