"""The options of an emulation: as a variable of the environment says them, and back."""

from __future__ import annotations

import pytest

from tileir.bridge.settings import OPTIONS, InvalidSettings, settings_of, settings_of_variable, trace_block_of


@pytest.mark.parametrize("text", ["", "0", " off ", "No", "false"])
def test_variable_that_asks_for_nothing(text: str) -> None:
    assert settings_of_variable(text) is None


@pytest.mark.parametrize("text", ["1", "on", " YES", "true"])
def test_variable_that_asks_for_no_option(text: str) -> None:
    found = settings_of_variable(text)
    assert (found.backend, found.target, found.sanitize, found.watches) == ("auto", "", False, False)
    assert found.words() == "1"


def test_variable_has_the_options_of_the_command() -> None:
    found = settings_of_variable("backend=cpu target=b200 sanitize=all watch-nan trace=matmul:0,3 pdb exact")
    assert (found.backend, found.target, found.sanitize, found.watch_nan) == ("cpu", "b200", "all", True)
    assert (found.trace, found.pdb, found.exact, found.fast) == (("matmul", (0, 3, 0)), True, True, False)
    assert found.watches


def test_options_may_be_written_with_dashes() -> None:
    assert settings_of_variable("--sanitize --target=h100").target == "h100"


def test_words_say_what_was_read_except_the_debugger() -> None:
    text = "backend=cpu target=b200 sanitize=all watch-nan trace=matmul:0,3,0 exact"
    assert settings_of_variable(text + " pdb").words() == text
    assert settings_of_variable("sanitize fast trace=2").words() == "sanitize trace=2,0,0 fast"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sanitise", f"there is no option 'sanitise': use {', '.join(OPTIONS)}"),
        ("watch-nan=1", "watch-nan takes no value, but '1' was given"),
        ("target", "target needs a value: target=NAME"),
        ("target=", "target needs a value: target=NAME"),
        ("sanitize=most", "'most' is not a value of sanitize: use sanitize or sanitize=all"),
        ("exact fast", "exact and fast contradict each other: use one of them"),
        ("trace=", "trace needs a value: trace=[KERNEL:]X[,Y[,Z]]"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        settings_of_variable(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2", ("", (2, 0, 0))), ("1,2,3", ("", (1, 2, 3))), ("add:4,5", ("add", (4, 5, 0)))],
)
def test_trace_block(text: str, expected: object) -> None:
    assert trace_block_of(text) == expected


@pytest.mark.parametrize("text", ["", "x", "1,2,3,4", "-1", "add:", "1,,2"])
def test_wrong_trace_block_says_what_one_looks_like(text: str) -> None:
    with pytest.raises(InvalidSettings, match="is no tile block: give one to three numbers"):
        trace_block_of(text)


def test_no_options_are_settings_too() -> None:
    assert settings_of([]).words() == "1"
