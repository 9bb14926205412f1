"""The documentation site: it is built strictly, links lead somewhere, and no page needs another host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from tests.optional import needs

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    # Whatever reaches for a network gets a proxy that is not there.
    environment = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "https_proxy": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
    }
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def pages(site: Path) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html")) if path.name != "404.html"}


def test_links_lead_to_pages_and_places(site: Path) -> None:
    texts = pages(site)
    names = {path: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for path, text in texts.items()}
    broken = []
    for path, text in texts.items():
        for address in re.findall(r'\b(?:href|src)="([^"]+)"', text):
            target, place = urldefrag(unescape(address))
            if re.match(r"[a-z]+:", target):
                continue
            found = (path.parent / unquote(target)).resolve() if target else path
            if found.is_dir():
                found /= "index.html"
            if not found.exists() or (place and found in names and unquote(place) not in names[found]):
                broken.append(f"{path.relative_to(site)}: {address}")
    assert broken == []


def test_pages_load_nothing_from_another_host(site: Path) -> None:
    for path, text in pages(site).items():
        loaded = re.findall(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="(https?:[^"]+)"', text)
        loaded += re.findall(r'<link\b[^>]*\brel="(?:stylesheet|preconnect|icon)"[^>]*\bhref="(https?:[^"]+)"', text)
        assert loaded == [], path.relative_to(site)


def test_programs_are_colored_and_modules_described(site: Path) -> None:
    program = (site / "reference" / "operations" / "floating_point.html").read_text(encoding="utf-8")
    assert '<span class="nf">addf</span>' in program
    module = (site / "reference" / "api" / "tileir.html").read_text(encoding="utf-8")
    assert "tileir.load" in module and "verify" in module


def test_search_knows_every_page(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    for path in pages(site):
        assert f'"location":"{path.relative_to(site).as_posix()}' in index
