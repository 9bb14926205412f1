"""Programs of `tileir.smith` keep what they promise."""

from __future__ import annotations

import pytest
from tests.analyze.smith.seeds import check_engines

import tileir
from tileir import smith


@pytest.mark.parametrize("family", smith.FAMILIES)
def test_programs_are_valid_well_defined_and_the_same_on_both_engines(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")
    for seed in range(5):
        assert check_engines(smith.program(seed, family=family)) == "", (family, seed)


def test_the_same_seed_gives_the_same_program() -> None:
    first, second = smith.program(11), smith.program(11)
    assert first.text() == second.text()
    assert first.text() != smith.program(12).text()
    assert [array.tobytes() for array in first.expected()] == [array.tobytes() for array in second.expected()]


def test_arguments_are_new_each_time() -> None:
    program = smith.program(3)
    arrays = [argument for argument in program.arguments if hasattr(argument, "dtype")]
    arrays[-1][...] = 1
    assert program.check(program.expected()) is None
    assert [argument for argument in program.arguments if hasattr(argument, "dtype")][-1].any() == 0


def test_first_difference_is_named() -> None:
    program = smith.program(3)
    results = program.expected()
    results[-1].view("u1")[0] ^= 1
    difference = program.check(results)
    assert difference is not None and difference.startswith(f"array {len(results) - 1}[0] is ")
    assert program.check(results[:-1]) == f"{len(results) - 1} arrays where {len(results)} are expected"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"family": "no"}, "there is no family 'no' of programs: arithmetic, "),
        ({"operations": ["addx"]}, "no program of the family 'everything' has the operation 'addx'"),
        ({"operations": []}, "the list of operations is empty"),
        ({"version": "12.0"}, "'12.0' is not a version of the dialect"),
    ],
)
def test_mistakes_of_the_caller_are_told(options: dict[str, object], message: str) -> None:
    with pytest.raises(tileir.OptionError) as caught:
        smith.program(1, **options)  # type: ignore[arg-type]
    assert caught.value.message.startswith(message)
