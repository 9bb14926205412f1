"""The page as one HTML file: markup, styles, modules and, in an exported page, the answers it shows.

Modules are in the page's import map as `data:` addresses, so that the same files work with a server and without.  What
runs in the page is what this file puts there: its Content-Security-Policy names one nonce, and forbids markup made
from text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

_PLACE = re.compile(r"\{\{([a-z]+)\}\}")
# What views have in common stands before their own rules, which may differ from it.
_FIRST_STYLES = ("style.css", "parts.css")


def page(title: str, embedded: Mapping[str, Any] | None = None, nonce: str | None = None) -> str:
    """The page; `embedded` are the answers that it carries, None if a server gives them.

    Without a `nonce`, one is derived from what the page carries: nobody who knows only a part of it can guess it, and
    the same launch gives the same file.
    """
    carried = json_in_script(embedded)
    if nonce is None:
        nonce = hashlib.sha256(b"tileir explorer" + carried.encode()).hexdigest()[:32]
    parts = {
        "title": html.escape(title),
        "nonce": nonce,
        "policy": html.escape(policy(nonce, connected=embedded is None)),
        "style": styles(),
        "imports": json_in_script({"imports": modules()}),
        "embedded": carried,
    }
    # Places are found in the template alone: what is filled in may hold anything.
    return _PLACE.sub(lambda place: parts[place[1]], _asset("page.html"))


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


def modules() -> dict[str, str]:
    """Each module of the page by the name that the others import it with."""
    found = {}
    for name in _names(".js"):
        encoded = base64.b64encode(_asset(name).encode()).decode()
        found[f"explorer/{name}"] = f"data:text/javascript;base64,{encoded}"
    return found


def styles() -> str:
    others = [name for name in _names(".css") if name not in _FIRST_STYLES]
    return "\n".join([_asset(name) for name in (*_FIRST_STYLES, *others)])


def json_in_script(value: Any) -> str:
    """JSON that stands inside of a script element: no text in it can end the element, or be taken for markup."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _names(ending: str) -> list[str]:
    folder = resources.files("tileir.serve.explorer") / "assets"
    return sorted([entry.name for entry in folder.iterdir() if entry.name.endswith(ending)])


def _asset(name: str) -> str:
    return (resources.files("tileir.serve.explorer") / "assets" / name).read_text(encoding="utf-8")
