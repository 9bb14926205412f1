"""Tasks as they are read: what is right, and the message for what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.judging.tasks.input_sets import HELD_OUT, SHOWN, VARIANTS, planned_sets
from tileir.judging.tasks.settings import read_task, settings_from, settings_in, tolerances, with_drawn_seed


def written(folder: Path, **settings: Any) -> Path:
    (folder / "reference.py").write_text("def reference(x):\n    return x\n")
    (folder / "task.json").write_text(json.dumps(settings))
    return folder


def test_a_folder_is_read_with_its_settings(tmp_path: Path) -> None:
    task = read_task(written(tmp_path, shapes=[{"n": 8}], memory_limit="1M", tolerance={"float16": [0.1, 0.2]}))
    assert task.settings.name == tmp_path.name
    assert task.settings.shapes == [{"n": 8}]
    assert task.settings.memory_limit == 1 << 20
    assert tolerances(task.settings.tolerance) == {"float16": [0.1, 0.2]}


def test_settings_travel_as_a_comment_that_changes_no_line(tmp_path: Path) -> None:
    task = read_task(written(tmp_path, held_out=[{"n": 9}]))
    source = task.with_seed(7)
    compile(source, "reference.py", "exec")
    assert source.startswith(task.reference)
    found = settings_in(source)
    assert found is not None and (found.held_out, found.seed) == ([{"n": 9}], 7)
    assert settings_in(task.reference) is None


def test_a_seed_is_drawn_once_where_none_is_given(tmp_path: Path) -> None:
    without = read_task(written(tmp_path)).with_seed(None)
    drawn = [settings_in(with_drawn_seed(without)) for _ in range(4)]
    assert len({each.seed for each in drawn if each is not None}) > 1
    given = read_task(tmp_path).with_seed(3)
    assert with_drawn_seed(given) == given and with_drawn_seed(b"pass\n") == b"pass\n"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shape": []}, "unknown key 'shape'.*\n.*did you mean 'shapes'"),
        ({"shapes": [3]}, "'shapes' in 'task.json' is a list such as"),
        ({"shapes": []}, "'shapes' in 'task.json' is a list such as"),
        ({"sizes": {"n": [-1]}}, "'sizes' in 'task.json' is an object"),
        ({"variants": 1}, "'variants' in 'task.json' is true or false"),
        ({"tolerance": "small"}, "'tolerance' in 'task.json' is a number"),
        ({"tolerance": {"float33": 1}}, "'tolerance' in 'task.json' is a number"),
        ({"precision": {"accumulate": "flaot32"}}, "'flaot32' is no name.*\n.*did you mean 'float32'"),
        ({"precision": {"sum": "float32"}}, "'precision' in 'task.json' is an object"),
        ({"operations": {"deny": ["mmaff"]}}, "'mmaff' is no name.*\n.*did you mean 'mmaf'"),
        ({"operations": {"allow": [], "deny": []}}, "'operations' in 'task.json' is an object"),
        ({"frameworks": ["cuda"]}, "'cuda' is no name of a framework"),
        ({"time_limit": 0}, "'time_limit' in 'task.json' is a number above 0"),
        ({"memory_limit": "much"}, "'memory_limit' in 'task.json' is a number of bytes"),
        ({"target": "h2000"}, "'target' in 'task.json': there is no target 'h2000'"),
        ([], "'task.json' is no object of JSON"),
    ],
)
def test_wrong_settings_are_refused_with_what_they_take(settings: Any, message: str) -> None:
    with pytest.raises(tileir.errors.TaskError, match=message):
        settings_from(settings)


def test_what_is_no_task_is_refused(tmp_path: Path) -> None:
    for path, message in ((tmp_path / "none", "no such folder"), (tmp_path, "has no reference.py")):
        with pytest.raises(tileir.errors.TaskError, match=message):
            read_task(path)
    (written(tmp_path) / "task.json").write_text("{")
    with pytest.raises(tileir.errors.TaskError, match="is no JSON"):
        read_task(tmp_path)


def test_sizes_beside_stated_ones_are_tried_where_they_must_work() -> None:
    def groups(**settings: Any) -> list[tuple[str, str]]:
        found = settings_from(settings)
        return [(each.group, each.label) for each in planned_sets(found, found.shapes, 1)]

    assert groups(shapes=[{"n": 100}, {"n": 64}], held_out=[{"n": 300}]) == [
        *[(SHOWN, "n=100"), (SHOWN, "n=64"), (HELD_OUT, "held-out shape 1"), (HELD_OUT, "held-out shape 1")],
        *[(VARIANTS, "n=65"), (VARIANTS, "n=99")],
    ]
    # Multiples of 16 may be all that a kernel has to take, and so may small numbers, which are no sizes.
    assert len(groups(shapes=[{"n": 128}, {"n": 64}])) == len(groups(shapes=[{"n": 3}, {"n": 7}])) == 2
    assert groups(shapes=[{"n": 64}], sizes={"n": [1]}) == [(SHOWN, "n=64"), (VARIANTS, "n=1")]
