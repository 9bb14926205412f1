"""Operations that are refused, with the reason."""

from __future__ import annotations

from typing import Final

from tileir.ir.core import Operation
from tileir.ttir.translation import RULES, Rule, Translation, rule

_NOT_REWRITTEN: Final = "Triton's pass 'rewrite-tensor-pointer' replaces block pointers, and did not run"
_REASONS: Final = {"tt.make_tensor_ptr": _NOT_REWRITTEN, "tt.advance": _NOT_REWRITTEN}


def _refused(reason: str) -> Rule:
    def refuse(t: Translation, op: Operation) -> None:
        raise t.unsupported(op, reason)

    return refuse


RULES.update({name: _refused(reason) for name, reason in _REASONS.items()})


@rule("tt.elementwise_inline_asm")
def inline_assembly(t: Translation, op: Operation) -> None:
    text = " ".join(str(t.attribute(op, "asm_string", "")).split())
    raise t.unsupported(op, f"assembly runs on a GPU only: {text}")
