"""What Triton and tileir refuse: in the user's lines, with those of neither of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from tests.bridge.triton import triton_kernels as kernels
from tests.bridge.triton.processes import line_of
from triton.compiler.errors import CompilationError

import tileir
from tileir.bridge.frames import hide_own_frames, is_own_frame


def files_and_lines(error: BaseException) -> list[tuple[str, int]]:
    found, place = [], error.__traceback__
    while place is not None:
        assert not is_own_frame(place.tb_frame)
        found.append((place.tb_frame.f_code.co_filename, place.tb_lineno))
        place = place.tb_next
    return found


def warmed(x: torch.Tensor) -> Any:
    return kernels.scaled.warmup(x, x, 1.0, False, BLOCK=64, grid=(1,))


@pytest.mark.parametrize(
    ("launch", "kind", "message"),
    [
        (lambda x: kernels.misspelled[(1,)](x, BLOCK=64), CompilationError, "NameError('ofsets is not defined')"),
        (lambda x: kernels.odd_shape[(1,)](x, BLOCK=64), CompilationError, "element 0 must be a power of 2"),
        (lambda x: kernels.add[(1,)](x), TypeError, "missing 4 required positional arguments"),
        (lambda x: kernels.misspelled[(1,)](x, BLOCK=64, BLOK=3), KeyError, "Keyword argument BLOK"),
        (lambda x: kernels.misspelled[(1,)](object(), BLOCK=64), TypeError, "argument of type: object"),
        (lambda x: kernels.unsupported[(1,)](x.int(), BLOCK=64), tileir.errors.TTIRError, "elementwise_inline_asm"),
        (lambda x: kernels.misspelled[(1,)](x.cfloat(), BLOCK=64), KeyError, "complex64"),
        (lambda x: kernels.misspelled[(1,)](x.to_sparse(), BLOCK=64), RuntimeError, "have storage"),
        (lambda x: kernels.misspelled[(1,)](x, BLOCK=64, num_warps=3), AssertionError, "num_warps"),
        (lambda x: kernels.scaled[()](x, x, 1.0, False, BLOCK=64), IndexError, "out of range"),
        (lambda x: warmed(x)[(1,)](x, x), tileir.LaunchError, "takes 5 arguments with its constants (x, out, f"),
        (lambda x: warmed(x).asm["ptx"], KeyError, "ptx: tileir runs the TTIR"),
        (lambda x: x + torch.ones(3, device="cuda"), RuntimeError, "must match the size"),
    ],
)
def test_tracebacks_have_the_lines_of_the_user(launch, kind, message) -> None:
    with tileir.emulate(), pytest.raises(kind) as caught:
        launch(torch.zeros(64, device="cuda"))
    error = caught.value
    hide_own_frames(error)
    assert message in str(error)
    assert [file for file, _ in files_and_lines(error)] == [__file__, __file__]
    reason = error.__cause__ if isinstance(error, CompilationError) else None
    assert reason is None or (str(reason) in str(error) and not files_and_lines(reason))


@triton.jit
def stored_at_a_number(x, n):
    tl.store(tl.cast(n, tl.pointer_type(tl.float32)), 1.0)


def test_invalid_ir_of_the_frontend_is_an_error_of_the_launch() -> None:
    """An address is 64 bits: Triton's verifier says that, with the line."""
    expected = "frontend makes invalid IR of stored_at_a_number"
    with tileir.emulate(), pytest.raises(tileir.LaunchError, match=expected) as caught:
        stored_at_a_number[(1,)](torch.zeros(64, device="cuda"), 8)
    (note,) = caught.value.diagnostics[0].notes
    line = stored_at_a_number.fn.__code__.co_firstlineno + 2
    assert (note.location.file, note.location.line) == (__file__, line) and "tt.int_to_ptr" in note.message, note


def test_a_helper_that_fails_is_the_cause_with_its_line() -> None:
    with tileir.emulate(), pytest.raises(CompilationError) as caught:
        kernels.calls_a_helper[(1,)](torch.zeros(64, device="cuda"), BLOCK=64)
    outer, inner = caught.value, caught.value.__cause__
    assert isinstance(inner, CompilationError) and isinstance(inner.__cause__, ValueError)
    assert "must be a power of 2" in str(inner) and "def odd_helper" in str(inner)
    for error, mark in ((outer, "calls"), (inner, "odd")):
        notes = getattr(error, "__notes__", None)
        assert notes is None or notes == [f"at {kernels.__file__}:{line_of(mark)}"]


def test_a_mistake_of_tileir_is_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileir.bridge.triton.kernel.describe", None)
    with tileir.emulate(), pytest.raises(TypeError) as caught:
        x = torch.zeros(64, device="cuda")
        kernels.add[(1,)](x, x, x, 64, BLOCK=64)
    before = caught.value.__traceback__
    hide_own_frames(caught.value)
    assert caught.value.__traceback__ is before
