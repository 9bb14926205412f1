"""Pages in a real browser: Debian's Chromium, or the one that TILEIR_CHROMIUM names, driven by Playwright."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.optional import browser_program, needs


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    needs("browser")
    with sync_playwright() as driver:
        # Tests run in containers, as root, where Chromium's own sandbox cannot be set up.
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        started = driver.chromium.launch(executable_path=browser_program(), args=options)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address, or a file, in a fresh window; an error on its console, or one it shows, fails the test.

    Options are those of Playwright's contexts: `color_scheme="dark"`, `viewport={"width": .., "height": ..}`.  A test
    that causes an error on purpose says which in `expected`, a part of its text.  With `hints`, the explorer shows its
    hints, as on first use.
    """
    contexts: list[Any] = []
    problems: list[str] = []

    def opened(address: str | Path, *, expected: str | None = None, hints: bool = False, **options: Any) -> Any:
        options = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options}
        context = browser.new_context(**options)
        contexts.append(context)
        if not hints:
            context.add_init_script("try { localStorage.setItem('tileir-hints', 'seen') } catch {}")
        made = context.new_page()
        made.set_default_timeout(60_000)

        def note(text: str) -> None:
            if expected is None or expected not in text:
                problems.append(text)

        made.on("pageerror", lambda error: note(f"error in the page: {error}"))
        made.on(
            "console",
            lambda message: note(f"console: {message.text}") if message.type in ("error", "warning") else None,
        )
        made.goto(address.resolve().as_uri() if isinstance(address, Path) else address)
        made.locator("[role=tab][aria-selected=true]").wait_for()
        return made

    yield opened
    shown = []
    for context in contexts:
        for page in context.pages:
            shown.extend(page.locator("#problems .problem span").all_text_contents())
        context.close()
    assert not problems, problems
    assert not [text for text in shown if text], shown
