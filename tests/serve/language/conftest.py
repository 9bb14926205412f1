"""A language server in a process of its own, for all tests of this folder that one worker runs."""

import pytest_asyncio
from tests.serve.language.wire import Editor


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def editor():
    """An editor (see `wire.py`).  A test that uses it is `@pytest.mark.asyncio(loop_scope="session")`."""
    editor = Editor()
    await editor.start()
    yield editor
    await editor.finish()
