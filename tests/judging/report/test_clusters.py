"""Kinds of failures: one for each planted bug, whatever programs show it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.judging.report.made_results import written
from tests.judging.report.planted_engine import (
    CRASHING_MINIMUM,
    PLAN,
    WRONG_PRODUCT,
    WRONG_XOR,
    planted,
    seed,
    swept,
)

from tileir.judging.report.contents import Contents
from tileir.judging.report.suspects import blamed, features_of
from tileir.judging.results.results import Results
from tileir.judging.results.store import Finished

pytest.importorskip("numpy", reason="programs run in the interpreter: pip install 'tileir[run]'")


def contents_with(path: Path, finished: list[Finished]) -> Contents:
    with Results(written(path, finished, PLAN)) as results:
        return Contents(results)


def test_each_planted_bug_is_one_kind_of_failure(tmp_path: Path) -> None:
    with planted(WRONG_XOR, WRONG_PRODUCT, CRASHING_MINIMUM):
        finished = swept([seed(number) for number in range(150)])
    found = contents_with(tmp_path / "r.sqlite", finished)
    assert sorted([(cluster.verb, cluster.outcome, cluster.suspect) for cluster in found.kinds]) == [
        ("compare", "failed", "mulf"),
        ("compare", "failed", "xori"),
        ("run", "crashed", ""),
    ]
    assert found.counts["passed"] > 50


def test_one_bug_is_one_kind_in_programs_of_other_seeds_and_sizes(tmp_path: Path) -> None:
    keys = set()
    for first, size in ((0, 14), (1000, 20)):
        with planted(CRASHING_MINIMUM):
            finished = swept([seed(number, size=size) for number in range(first, first + 40)])
        (cluster,) = contents_with(tmp_path / f"{first}.sqlite", finished).kinds
        assert cluster.count > 1
        keys.add(cluster.key)
    assert len(keys) == 1


def test_without_bugs_nothing_fails(tmp_path: Path) -> None:
    with planted():
        assert not contents_with(tmp_path / "r.sqlite", swept([seed(number) for number in range(20)])).kinds


def features(*words: str) -> frozenset[str]:
    return frozenset(words)


def test_the_feature_of_programs_that_fail_and_not_of_others_is_to_blame() -> None:
    failing = {str(number): features("a", "b", f"x{number}") for number in range(5)}
    passing = [features("a", f"x{number}") for number in range(20)]
    assert set(blamed(failing, passing).values()) == {"b"}


def test_the_simpler_of_two_features_is_to_blame() -> None:
    failing = {str(number): features("mulf", "mulf f16", "mulf in for") for number in range(5)}
    assert set(blamed(failing, [features("addf")] * 9).values()) == {"mulf"}
    # Where others have passed with it, the one that says more.
    assert set(blamed(failing, [features("mulf", "mulf f32")] * 9).values()) == {"mulf f16"}


def test_what_all_programs_have_is_not_to_blame() -> None:
    failing = {str(number): features("a") for number in range(5)}
    assert set(blamed(failing, [features("a")] * 90).values()) == {""}
    assert set(blamed(failing, [features("a")], scale=90).values()) == {""}


def test_few_failures_blame_nobody() -> None:
    assert blamed({"one": features("a"), "two": features("a")}, []) == {"one": "", "two": ""}


def test_features_are_operations_with_types_ranks_attributes_and_places() -> None:
    import tileir

    module = tileir.parse(
        """cuda_tile.module @m { entry @k() {
            %c = constant <f16: 1.0> : tile<2x2xf16>
            %n = constant <i32: 4> : tile<i32>
            for %i in (%n to %n, step %n) : tile<i32> {
                %m = mulf %c, %c rounding<zero> : tile<2x2xf16>
            }
            return
        } }"""
    )
    found = features_of(module)
    assert {"mulf", "mulf f16", "mulf of rank 2", "mulf zero", "mulf in for", "for", "constant i32"} <= found
    assert not {"return", "continue", "entry", "module"} & found
