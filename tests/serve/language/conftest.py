"""A language server in a process of its own, for all tests of this folder that one worker runs."""

import inspect

import pytest
from tests.serve.language.wire import Editor, run


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Tests of this folder may be coroutines."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}))
    return True


@pytest.fixture(scope="session")
def editor():
    """An editor (see `wire.py`)."""
    editor = run(Editor().start())
    yield editor
    run(editor.finish())
