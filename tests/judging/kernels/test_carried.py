"""Values from one process to another."""

from __future__ import annotations

import os
from pathlib import Path

import ml_dtypes
import numpy
import pytest

from tileir.judging.kernels.comparison import Tolerance, tolerance_for
from tileir.judging.kernels.values import NotCarried, dump, load, read_foreign


def test_values_come_back_as_they_were() -> None:
    value = {
        "a": (1, -(2**70), 0.1, float("inf"), None, True, "text"),
        "b": [numpy.arange(6, dtype="i2").reshape(2, 3), numpy.float32(1.5), numpy.array(7)],
        "c": numpy.array([1.5, -2.0], ml_dtypes.bfloat16),
        "d": numpy.empty((0, 4), "f8"),
    }
    found = load(dump(value))
    assert found["a"] == value["a"]
    assert [type(each) for each in found["b"]] == [numpy.ndarray, numpy.float32, numpy.ndarray]
    for one, other in zip([*found["b"], found["c"], found["d"]], [*value["b"], value["c"], value["d"]], strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert numpy.array_equal(one, other)


def test_arrays_keep_the_order_of_their_axes() -> None:
    array = numpy.arange(24, dtype="f4").reshape(2, 3, 4).transpose(2, 0, 1)
    found = load(dump(array))
    assert numpy.array_equal(found, array)
    assert found.strides == array.strides
    found[0] = 1


@pytest.mark.parametrize("value", [object(), numpy.array([object()]), numpy.array(["text"]), {1, 2}, b"bytes"])
def test_what_cannot_be_carried_is_refused_in_words(value: object) -> None:
    with pytest.raises(NotCarried, match=r"^the input (is an?|has elements of) \w+"):
        dump(value, "the input")


def test_a_subclass_that_may_compute_later_is_refused() -> None:
    class Lazy(numpy.ndarray):
        pass

    with pytest.raises(NotCarried, match="Lazy"):
        dump(numpy.zeros(3).view(Lazy))


def test_damaged_values_are_refused() -> None:
    data = dump((numpy.arange(100.0), 3))
    for end in range(0, len(data), 7):
        with pytest.raises(NotCarried):
            load(data[:end])
    for old, new in [
        (b"100]", b"900]"),
        (b'"place":0', b'"place":9'),
        (b"float64", b"object_"),
        (b'"order":[0]', b'"order":[1]'),
    ]:
        assert old in data
        with pytest.raises(NotCarried):
            load(data.replace(old, new))


def test_foreign_files_are_read_if_they_are_plain(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"abc")
    assert read_foreign(str(tmp_path), "plain", 3) == b"abc"
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    os.mkfifo(tmp_path / "pipe")
    os.link(tmp_path / "plain", tmp_path / "hard")
    (tmp_path / "folder").mkdir()
    (tmp_path / "long").write_bytes(b"abcd")
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    for directory, name, why in [
        *((".", "link", "is a link"), (".", "pipe", "is no plain file"), (".", "hard", "is a link")),
        *((".", "folder", "is no plain file"), (".", "long", "has 4 bytes, more than 3"), (".", "none", "is missing")),
        ("elsewhere", "long", "is a link"),
    ]:
        with pytest.raises(NotCarried, match=why):
            read_foreign(str(tmp_path / directory), name, 3)


def test_the_tolerance_is_of_the_size_of_the_results() -> None:
    small = numpy.full(1000, 1e-3, "f4")
    assert tuple(tolerance_for(small, None)) == pytest.approx((1e-4, 1e-7))
    assert tolerance_for(small * 10**6, None) == Tolerance(1e-4, 1e-4)
    assert tolerance_for(small.astype("f2"), None).relative == 1e-2
    assert tolerance_for(numpy.arange(3), None) == (0, 0)
    assert tolerance_for(numpy.arange(3), {"": [0.1, 0.1]}) == (0, 0)
    assert tolerance_for(small.astype(ml_dtypes.bfloat16), {"bfloat16": [0.1, 0.2]}) == (0.1, 0.2)
