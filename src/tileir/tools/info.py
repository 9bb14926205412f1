"""`tileir info`: what is installed, and which engines can work here."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING

from tileir.ir.escapes import harmless_line
from tileir.tools.arguments import EXIT_FINE, Usage

if TYPE_CHECKING:
    from tileir.execute.engine import Engine

USAGE = Usage(
    "tileir info",
    "Shows versions and the engines that --backend and backend= accept, and why an engine is not available.",
    "",
    (),
    least=0,
    most=0,
)


def run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    # Imported here: who asks for the version only has no use for engines.
    from tileir.execute.engines import all_engines

    print(identity_text())
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()} ({sys.executable})")
    print("\nengines:")
    engines, failures = all_engines()
    width = max([len(name) for name in [*failures, *[engine.name for engine in engines]]])
    for engine in engines:
        print(f"  {engine.name:{width}}  {harmless_line(engine.summary or engine.called)}")
        for line in _details(engine):
            print(f"  {'':{width}}  {harmless_line(line)}")
    for name, reason in failures.items():
        print(f"  {harmless_line(name):{width}}  {harmless_line(reason)}")
    return EXIT_FINE


def identity_text() -> str:
    """Which tileir this is."""
    from tileir import __version__
    from tileir.ir.declaration import NEWEST_NAME

    return f"tileir {__version__} (CUDA Tile IR {NEWEST_NAME})"


def _details(engine: Engine) -> list[str]:
    """Why an engine cannot work here, or what it says of itself."""
    from tileir.execute.engines import why_missing

    missing = why_missing(engine)
    if missing:
        return [f"cannot work here: {missing}"]
    try:
        return [f"{name}: {what}" for name, what in engine.facts().items()]
    except Exception as error:
        # Somebody else's code, or a package that is installed and broken.
        return [f"cannot work here: {type(error).__name__}: {error}"]
