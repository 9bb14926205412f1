"""For all tests: kernels compiled in a test run are kept apart from the user's, and forgotten with it; interrupts interrupt;
no test fails because the machine is busy."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.browsing import browser, open_page
from tests.sampling import leave_to_long_runs

# Here, and not where pages are tested: two browsers cannot be driven in one process.
__all__ = ["browser", "open_page"]

# How long an example takes, to make or to check, is no property of the product.
settings.register_profile("patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


# Thousands of tests and all modules stay until the end: no collection of garbage needs to look at them, neither while they
# are made nor later.
gc.disable()


FILES = pytest.StashKey[set[str]]()


def visible_files(root: Path) -> set[str]:
    """Return the names of what users see at the top of a checkout and among its examples."""
    names = {path.name for folder in (root, root / "examples") for path in folder.iterdir()}
    return {name for name in names if not name.startswith((".", "_")) and name not in ("build", "dist")}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers `-n auto` starts: one more than there are processors, since many tests wait for a child."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FILES] = visible_files(config.rootpath)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    leave_to_long_runs(items)
    # JAX starts threads: a process that has imported it should not fork, as many other tests do.
    items.sort(key=lambda item: "jax" in item.path.name)


@pytest.fixture(autouse=True)
def _emulation_is_not_left_on() -> Iterator[None]:
    """Fail a test that leaves emulation on for the processes that later tests start."""
    yield
    assert os.environ.pop("TILEIR_EMULATE", None) is None, "run what emulates in a process of its own"


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What the tests of a module leave behind stays, too: many tests collect garbage, each time among all there is."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Libraries complain of what is still there when the interpreter ends; and no test writes into the source tree."""
    gc.unfreeze()
    before = session.config.stash[FILES]
    if new := visible_files(session.config.rootpath) - before:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print(f"\nA test wrote into the source tree: {', '.join(sorted(new))}")


@pytest.fixture(autouse=True, scope="session")
def _cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["TILEIR_CACHE_DIR"] = str(tmp_path_factory.getbasetemp() / "compiled kernels")


@pytest.fixture(autouse=True, scope="session")
def _interrupts() -> None:
    """A process that a shell starts in the background ignores SIGINT, and so do those it starts in turn."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
