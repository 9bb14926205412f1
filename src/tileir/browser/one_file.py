"""A page as one HTML file: markup, styles, modules, and what it shows.

Modules are in the page's import map as `data:` addresses, so that the same files work with a server and without.  What
runs in the page is what this file puts there: its Content-Security-Policy names one nonce, and forbids markup made
from text.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

_PLACE = re.compile(r"\{\{([a-z]+)\}\}")
SHARED = "tileir.browser"
"""The package whose assets every page has, under `page/`."""
# What all pages have in common stands before their own rules, which may differ from it.
_SHARED_STYLES = ("style.css", "parts.css")


def page(
    package: str, title: str, embedded: Mapping[str, Any] | None, nonce: str | None = None, *, connected: bool = False
) -> str:
    """The page whose markup, modules and styles are the assets of a package; the modules of `tileir.serve.explorer`
    are imported as `explorer/main.js`.

    `embedded` is what it shows; a `connected` page asks its server for it.  Without a `nonce`, one is derived from
    what the page carries: nobody who knows only a part of it can guess it, and the same contents give the same file.
    """
    carried = json_in_script(embedded)
    if nonce is None:
        nonce = hashlib.sha256(package.encode() + b"\0" + carried.encode()).hexdigest()[:32]
    parts = {
        "title": html.escape(title),
        "nonce": nonce,
        "policy": html.escape(policy(nonce, connected=connected)),
        "style": styles(package),
        "imports": json_in_script({"imports": {**modules(SHARED, "page"), **modules(package)}}),
        "embedded": carried,
    }
    # Places are found in the template alone: what is filled in may hold anything.
    return _PLACE.sub(lambda place: parts[place[1]], _asset(package, "page.html"))


def policy(nonce: str, *, connected: bool) -> str:
    """What the browser lets the page do: run its own modules, ask its own server, draw, and nothing else."""
    rules = [
        "default-src 'none'",
        f"script-src 'nonce-{nonce}'",
        f"style-src 'nonce-{nonce}'",
        "img-src data: blob:",
        "connect-src 'self'" if connected else "connect-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    ]
    return "; ".join(rules)


def modules(package: str, prefix: str = "") -> dict[str, str]:
    """Each module of a page by the name that the others import it with."""
    prefix = prefix or package.rpartition(".")[2]
    found = {}
    for name in _names(package, ".js"):
        encoded = base64.b64encode(_asset(package, name).encode()).decode()
        found[f"{prefix}/{name}"] = f"data:text/javascript;base64,{encoded}"
    return found


def styles(package: str) -> str:
    shared = [_asset(SHARED, name) for name in _SHARED_STYLES]
    return "\n".join([*shared, *[_asset(package, name) for name in _names(package, ".css")]])


def json_in_script(value: Any) -> str:
    """JSON that stands inside of a script element: no text in it can end the element, or be taken for markup."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def packed(value: Any) -> str:
    """JSON, compressed and written as base64: what `inflated` of `assets/packing.js` reads."""
    data = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    # No time and no name in the header: the same value gives the same text.
    return base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode()


def _names(package: str, ending: str) -> list[str]:
    folder = resources.files(package) / "assets"
    return sorted([entry.name for entry in folder.iterdir() if entry.name.endswith(ending)])


def _asset(package: str, name: str) -> str:
    return (resources.files(package) / "assets" / name).read_text(encoding="utf-8")
