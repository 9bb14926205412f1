"""The extension of Visual Studio Code: what its manifest promises is there, and the tools of its world accept it."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from tests.editors.installing import EXTENSION, ROOT, run

import tileir
from tileir.analyze.documentation.examples import program_around
from tileir.execute.arguments.argument_text import stated_launch

MANIFEST = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
CONTRIBUTES = MANIFEST["contributes"]
SNIPPETS = json.loads((EXTENSION / "snippets" / "tileir.json").read_text(encoding="utf-8"))
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in sorted((EXTENSION / "src").glob("*.ts"))}
# A place in a snippet: `$1`, `${1:default}`, `${1|first,second|}`; defaults hold no place of their own.
PLACE = re.compile(r"\$(?:(\d+)|\{(\d+)(?::([^${}]*)|\|([^|,]*)[^|]*\|)\})")


def filled(body: list[str]) -> str:
    """A snippet with each place as it comes up, repeated where its number is."""
    defaults: dict[str, str] = {}

    def fill(place: re.Match[str]) -> str:
        number = place[1] or place[2]
        default = place[3] if place[3] is not None else place[4]
        if default is not None:
            assert defaults.setdefault(number, default) == default, f"two defaults for ${number}"
        return defaults.get(number, "")

    text = PLACE.sub(fill, "\n".join(body))
    assert "$" not in text, f"a place that is not understood: {text}"
    return text.replace("\\\\", "\\")


def program_of(text: str) -> str:
    if text.startswith("cuda_tile.module"):
        return text
    if text.startswith(("entry", "global")):
        return f"cuda_tile.module @m {{\n{text}\n}}"
    return program_around(f"{text}\nreturn")


@pytest.mark.parametrize("name", [name for name in SNIPPETS if name != "Launch comment"])
def test_snippet_is_a_program_as_it_comes(name: str) -> None:
    tileir.verify(tileir.parse(program_of(filled(SNIPPETS[name]["body"]))))


def test_snippet_of_a_launch_is_read_as_one() -> None:
    launch = stated_launch(
        filled(SNIPPETS["Launch comment"]["body"]) + "\n" + filled(SNIPPETS["Program"]["body"]), None
    )
    assert launch is not None and launch.grid[0] == 1 and list(launch.arguments) == ["rand:f32:1024"]


def test_snippets_have_prefixes_of_their_own() -> None:
    prefixes = [snippet["prefix"] for snippet in SNIPPETS.values()]
    assert len(set(prefixes)) == len(prefixes)
    assert all(set(snippet) == {"prefix", "body", "description"} for snippet in SNIPPETS.values())


def test_commands_of_the_manifest_are_registered_and_no_others() -> None:
    registered = {name for text in SOURCES.values() for name in re.findall(r'registerCommand\("([^"]+)"', text)}
    assert registered == {command["command"] for command in CONTRIBUTES["commands"]}
    for menu in CONTRIBUTES["menus"].values():
        assert {item["command"] for item in menu} <= registered


def test_settings_that_are_read_are_declared() -> None:
    declared = {name.removeprefix("tileir.") for name in CONTRIBUTES["configuration"]["properties"]}
    read = {name for text in SOURCES.values() for name in re.findall(r'\.get<[^>]+>\("([^"]+)"', text)}
    assert read <= declared


def test_lock_file_and_license_are_those_of_the_package() -> None:
    assert MANIFEST["version"] == json.loads((EXTENSION / "package-lock.json").read_text(encoding="utf-8"))["version"]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'license = "([^"]+)"', project)[1] == MANIFEST["license"]


def test_lock_file_names_no_host() -> None:
    """Whoever installs from a registry of their own does so."""
    lock = (EXTENSION / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock and "://registry" not in lock


def test_problem_matcher_reads_what_check_prints(capsys: pytest.CaptureFixture[str]) -> None:
    from tileir.tools import main

    assert main.run(["check", str(ROOT / "examples" / "broken.mlir")]) == 1
    [matcher] = CONTRIBUTES["problemMatchers"]
    message, position = matcher["pattern"]
    lines = capsys.readouterr().out.splitlines()
    # JavaScript's expressions, in the syntax that Python shares with it.
    first, second = re.match(message["regexp"], lines[0]), re.match(position["regexp"], lines[1])
    assert first and first[message["severity"]] == "error" and first[message["message"]]
    assert second and second[position["file"]].endswith("broken.mlir") and second[position["line"]] == "5"


def test_configuration_of_the_language_is_well_formed() -> None:
    configuration = json.loads((EXTENSION / "language-configuration.json").read_text(encoding="utf-8"))
    word = re.compile(configuration["wordPattern"])
    for name in ("%block", "%a#1", "@kernel", "#layout", "!type", "^bb0", "load_view_tko", "cuda_tile.module"):
        assert word.fullmatch(name.partition("#1")[0])
    increase = re.compile(configuration["indentationRules"]["increaseIndentPattern"])
    decrease = re.compile(configuration["indentationRules"]["decreaseIndentPattern"])
    assert increase.match("  entry @k(%a: tile<i32>) {") and increase.match("    } else {")
    assert not increase.match("  %a = iota : tile<4xi32>") and not increase.match("  // for {")
    assert decrease.match("  } else {") and not decrease.match("  return")


def test_readme_has_only_addresses_that_the_marketplace_shows() -> None:
    text = (EXTENSION / "README.md").read_text(encoding="utf-8")
    assert text.count("![") == 3
    for target in re.findall(r"\]\(([^)]*)\)", text):
        assert target.startswith("https://")
        for place in ("/raw/main/", "/blob/main/"):
            assert place not in target or (ROOT / target.partition(place)[2]).exists(), target


def test_package_holds_what_is_needed_and_nothing_else(tmp_path: Path) -> None:
    """Packaged by vsce, which checks the manifest and has the client compiled strictly and bundled."""
    package = tmp_path / "tileir.vsix"
    run("npm", "run", "--silent", "package", "--", "--out", str(package))
    with zipfile.ZipFile(package) as archive:
        names = {
            name.removeprefix("extension/").lower() for name in archive.namelist() if name.startswith("extension/")
        }
        bundle = archive.read("extension/out/extension.js").decode()
    needed = {MANIFEST["icon"], MANIFEST["main"].removeprefix("./"), "readme.md", "changelog.md", "license.txt"}
    for kind in ("grammars", "snippets"):
        needed |= {item["path"].removeprefix("./") for item in CONTRIBUTES[kind]}
    assert {name.lower() for name in needed} <= names
    assert not [
        name for name in names if name.startswith(("src/", "node_modules/", "checks/")) or name.endswith(".map")
    ]
    # The bundle needs nothing of npm's when it runs.
    assert set(re.findall(r'require\("([^"]+)"\)', bundle)) <= {
        "vscode", "fs", "path", "os", "net", "util", "url", "crypto", "child_process", "events", "buffer",
    }  # fmt: skip
