"""What NVIDIA's disassembler prints for real kernels parses, verifies, and prints back to the same bytes."""

from __future__ import annotations

import pytest
from tests.kernels.export import TOOLS_MISSING, all_cases, disassemble, export, tools_available
from tests.sampling import one_in

if not tools_available():
    pytest.skip(TOOLS_MISSING, allow_module_level=True)

EXPORTS = [
    pytest.param(case, version, id=f"{case.name}-{version}") for case in all_cases() for version in case.versions
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("debug_info", [False, True], ids=["plain", "locations"])
@pytest.mark.parametrize(("case", "version"), one_in(5, EXPORTS))
def test_disassembly_of_kernel_prints_back_unchanged(case, version, debug_info):
    import tileir
    from tileir.text.printer import print_disassembly

    text = disassemble(export(case, version), debug_info)
    module = tileir.parse(text)
    tileir.verify(module)
    assert print_disassembly(module, debug_info) == text
