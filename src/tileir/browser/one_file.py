"""A page as one HTML file: markup, styles, modules, and what it shows.

Modules are in the page's import map as `data:` addresses, so that the same files work with a server and without.  Only
what this file puts there runs in the page: its Content-Security-Policy names one nonce, and forbids markup made from
text.
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

_FIELD = re.compile(r"\{\{([a-z]+)\}\}")
_SHARED = "tileir.browser"
"""The package whose assets every page has: the markup, and modules under `page/`."""


def page(
    package: str, title: str, embedded: Mapping[str, Any] | None, nonce: str | None = None, *, connected: bool = False
) -> str:
    """The page whose modules and styles are the assets of a package; those of `tileir.serve.explorer` are imported as
    `explorer/main.js`.

    `embedded` is what it shows; a `connected` page requests it from its server.  Without a `nonce`, one is derived
    from the contents: nobody who knows only a part of them can guess it, and the same contents make the same file.
    """
    carried = json_in_script(embedded)
    if nonce is None:
        nonce = hashlib.sha256(package.encode() + b"\0" + carried.encode()).hexdigest()[:32]
    name = package.rpartition(".")[2]
    # Shared rules come first: those of a page may differ from them.
    styles = [*_assets(_SHARED, ".css").values(), *_assets(package, ".css").values()]
    fields = {
        "name": name,
        "title": html.escape(title),
        "nonce": nonce,
        "policy": html.escape(policy(nonce, connected=connected)),
        "style": "\n".join(styles),
        "imports": json_in_script({"imports": {**_modules(_SHARED, "page"), **_modules(package, name)}}),
        "embedded": carried,
    }
    # Fields are found in the template alone: what is filled in may hold anything.
    template = _assets(_SHARED, ".html")["page.html"]
    return _FIELD.sub(lambda field: fields[field[1]], template)


def policy(nonce: str, *, connected: bool) -> str:
    """What the browser lets the page do: run its own modules, connect to its own server, draw, and nothing else."""
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


def _modules(package: str, prefix: str) -> dict[str, str]:
    """Each module of a page by the name that the others import it with."""
    start = "data:text/javascript;base64,"
    texts = _assets(package, ".js")
    return {f"{prefix}/{name}": start + base64.b64encode(text.encode()).decode() for name, text in texts.items()}


def json_in_script(value: Any) -> str:
    """JSON that stands inside of a script element: no text in it can end the element, or be taken for markup."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def packed(value: Any) -> str:
    """JSON, compressed and written as base64: what `unpacked` of `assets/page.js` reads."""
    data = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    # No time and no name in the header: the same value makes the same text.
    return base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode()


def _assets(package: str, ending: str) -> dict[str, str]:
    """The texts of a package's assets by their names, in order."""
    files = [file for file in (resources.files(package) / "assets").iterdir() if file.name.endswith(ending)]
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(files, key=lambda file: file.name)}
