"""Programs of `tileir.smith` keep what they promise."""

from __future__ import annotations

import pytest
from tests.analyze.smith.seeds import check_engines
from tests.sampling import one_in

import tileir
from tileir import smith
from tileir.analysis import SMITH_FAMILIES


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seeds", one_in(2, [range(2), range(2, 5)]))
@pytest.mark.parametrize("family", SMITH_FAMILIES)
def test_programs_are_valid_well_defined_and_the_same_on_both_engines(
    family: str, seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")
    for seed in seeds:
        assert check_engines(smith(seed, family=family, size=50)) == "", (family, seed)


def test_the_same_seed_gives_the_same_program() -> None:
    first, second = smith(11), smith(11)
    assert first.text() == second.text()
    assert first.text() != smith(12).text()
    assert [array.tobytes() for array in first.expected()] == [array.tobytes() for array in second.expected()]


def test_arguments_are_new_each_time() -> None:
    program = smith(3)
    arrays = [argument for argument in program.arguments if hasattr(argument, "dtype")]
    arrays[-1][...] = 1
    assert program.check(program.expected()) is None
    assert [argument for argument in program.arguments if hasattr(argument, "dtype")][-1].any() == 0


def test_first_difference_is_named() -> None:
    program = smith(3)
    results = program.expected()
    results[-1].view("u1")[0] ^= 1
    difference = program.check(results)
    last = max(number for number, word in enumerate(program.launch.arguments) if ":" in word)
    assert difference is not None and difference.startswith(f"argument {last}[0] is ")
    assert program.check(results[:-1]) == f"{len(results) - 1} arrays where {len(results)} are expected"


def test_open_results_have_a_tolerance() -> None:
    program = smith(1, family="functions", allow_open=True)
    assert not program.is_exact and check_engines(program) == ""
    number, tolerance = next(iter(program.tolerances.items()))
    arguments = program.arguments
    tileir.compile(program.module, backend="cpu").launch(program.grid, arguments)
    wanted = arguments[number].copy()
    arguments[number][...] = wanted * (1 + tolerance / 2)
    assert program.check(arguments) is None
    arguments[number][...] = wanted + 1
    assert str(program.check(arguments)).startswith(f"argument {number}[0] is ")


def test_what_is_not_asked_for_is_exact() -> None:
    assert all(smith(seed, family="functions").is_exact for seed in range(5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"family": "no"}, "there is no family 'no' of programs: choose one of arithmetic, "),
        ({"operations": ["addx"]}, "there is no operation 'addx' that programs could be made of"),
        ({"operations": ["exp"], "family": "atomics"}, "no program of the family 'atomics' has the operation 'exp'"),
        ({"operations": []}, "the list of operations is empty"),
        ({"version": "12.0"}, "'12.0' is not a version of the dialect"),
    ],
)
def test_mistakes_of_the_caller_are_told(options: dict[str, object], message: str) -> None:
    with pytest.raises(tileir.OptionError) as caught:
        smith(1, **options)  # type: ignore[arg-type]
    assert caught.value.message.startswith(message)
