"""Mistakes in cuTile scripts that are seen while they are typed; nothing of the scripts runs."""

from __future__ import annotations

import textwrap

import pytest

from tileir.dialect import ops as _  # noqa: F401, the operations are there once this is
from tileir.ir.registry import REGISTRY
from tileir.serve.language.cutile.checks import script_errors
from tileir.serve.language.cutile.library import library, markdown, operations_of
from tileir.serve.language.cutile.script import Script, call_at

pytest.importorskip("cuda.tile")


def found(text: str) -> list[tuple[str, str]]:
    """The characters that each mistake is about, and what is said."""
    text = textwrap.dedent(text)
    known = library()
    assert known is not None
    return [(text[each.start : each.end], each.message) for each in script_errors(Script(text), known)]


def in_kernel(body: str, parameters: str = "a, tile: ct.Constant[int]") -> list[tuple[str, str]]:
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return found(f"import cuda.tile as ct\n\n@ct.kernel\ndef k({parameters}):\n{lines}\n")


def test_a_good_kernel_has_no_script_errors() -> None:
    assert (
        in_kernel("""
        i = ct.bid(0)
        x = ct.load(a, index=(i,), shape=(tile,), padding_mode=ct.PaddingMode.ZERO)
        for j in range(4):
            x = x + ct.full((tile,), 1.0, ct.float32) if j > 1 else x
        ct.static_assert(isinstance([1, 2], list))
        y = tuple(each for each in ct.static_iter((1, 2)))
        ct.store(a, (i,), tile=x)
    """)
        == []
    )


@pytest.mark.parametrize(
    "imports",
    ["import cuda.tile as ct", "from cuda import tile as ct", "import cuda.tile", "from cuda import tile"],
)
def test_names_that_the_library_does_not_have(imports: str) -> None:
    name = "ct" if imports.endswith("ct") else imports.split("import ")[1]
    assert found(f"{imports}\nx = {name}.laod\ny = {name}.load\n") == [
        ("laod", "cuda.tile has no 'laod': did you mean 'load'?")
    ]


def test_names_that_are_imported_one_by_one() -> None:
    text = "from cuda.tile import (\n    kernel, laod,\n    PaddingMode as Mode,\n)\nprint(Mode.ZER0, Mode.ZERO)\n"
    assert found(text) == [
        ("laod", "cuda.tile has no 'laod': did you mean 'load'?"),
        ("ZER0", "PaddingMode has no 'ZER0': did you mean 'ZERO'?"),
    ]


@pytest.mark.parametrize(
    ("call", "where", "words"),
    [
        ("ct.load(a, (0,), shap=(4,))", "shap", "load has no parameter 'shap': did you mean 'shape'?"),
        (
            "ct.load(array=a, index=(0,), shape=(4,))",
            "array",
            "'array' of load is given by its position, without its name",
        ),
        ("ct.bid()", "ct.bid", "bid: missing a required argument: 'axis'"),
        ("ct.bid(0, 1)", "ct.bid", "bid: too many positional arguments"),
        ("ct.bid(3)", "3", "a grid has the axes 0, 1 and 2, not 3"),
    ],
)
def test_arguments_that_functions_do_not_take(call: str, where: str, words: str) -> None:
    assert in_kernel(f"x = {call}") == [(where, words)]


def test_calls_that_are_given_lists_of_arguments_are_left_alone() -> None:
    assert in_kernel("x = ct.load(*a)\ny = ct.load(a, **tile)") == []


@pytest.mark.parametrize(
    ("line", "where", "words"),
    [
        ("try: pass\nfinally: pass", "try: pass", "`try` cannot be in a kernel"),
        ("import math", "import math", "`import` cannot be in a kernel"),
        ("x = [1, 2]", "[1, 2]", "a list cannot be in a kernel; write a tuple"),
        ("x = {1: 2}", "{1: 2}", "a dictionary cannot be in a kernel"),
        ("x = (y := 1)", "y := 1", "`:=` cannot be in a kernel"),
        ("for i in range(3): pass\nelse: pass", "for", "a `for` in a kernel has no `else`"),
        ("assert tile > 1", "assert tile > 1", "`assert` cannot be in a kernel; write `ct.assert_(..)`"),
    ],
)
def test_what_kernels_cannot_be_made_of(line: str, where: str, words: str) -> None:
    assert in_kernel(line) == [(where, words)]
    assert found(f"import cuda.tile as ct\ndef host(tile):\n{textwrap.indent(line, '    ')}\n") == []


def test_extents_that_are_no_powers_of_two() -> None:
    words = "a tile has extents that are powers of two: "
    assert in_kernel("x = ct.load(a, (0,), (48,))") == [("48", words + "48 is none")]
    assert in_kernel("x = ct.zeros(shape=(16, 24), dtype=ct.float32)") == [("24", words + "24 is none")]
    text = "import cuda.tile as ct\nT = 100\n@ct.kernel\ndef k(a):\n    x = ct.arange(T, dtype=ct.int32)\n"
    assert found(text) == [("T", words + "'T' is 100")]
    # Set again somewhere, or a parameter of the same name: nobody knows.
    assert found(text.replace("T = 100", "T = 100\nT = 128")) == []
    assert found(text.replace("def k(a)", "def k(a, T: ct.Constant[int])")) == []


def test_shapes_of_numbers_that_are_no_constants() -> None:
    words = (
        "the shape of a tile is constant, and 'tile' is a number of the launch: write 'tile: ct.Constant[int]' in the "
        "parameters of 'k'"
    )
    assert in_kernel("x = ct.load(a, (0,), (tile,))", "a, tile") == [("tile", words)]
    assert in_kernel("x = ct.load(a, (0,), (tile,))", "a, tile: int") == [("tile", words)]
    # It may be one by another name.
    assert in_kernel("x = ct.load(a, (0,), (tile,))", "a, tile: ConstInt") == []


def test_places_count_characters() -> None:
    text = "import cuda.tile as ct\nwörter = ('𝕏', ct.laod)\n"
    assert found(text) == [("laod", "cuda.tile has no 'laod': did you mean 'load'?")]


@pytest.mark.parametrize(
    "text", ["import cuda.tile as ct\ndef (:\n", "x = 1\n", "", "\0", "import cuda.tile as ct\n" + "(" * 500]
)
def test_texts_that_are_no_scripts_have_no_script_errors(text: str) -> None:
    assert found(text) == []


def test_the_call_around_a_place() -> None:
    text = "x = ct.load(a, (i, j), shape="
    call = call_at(text, len(text))
    assert call is not None
    assert (call.name, call.argument, call.keyword) == ("ct.load", 2, "shape")
    assert call_at("f(1)  ", 6) is None
    inner = call_at("ct.load(a, index=(1, g(2", 24)
    assert inner is not None and inner.name == "g"
    group = call_at("ct.load(a, index=(1, 2", 22)
    assert group is not None and (group.name, group.keyword) == ("ct.load", "index")


def test_the_operations_that_functions_become_exist() -> None:
    known = library()
    assert known is not None
    names = {name.removeprefix("cuda_tile.") for name in REGISTRY.by_name}
    assert {name for member in known.members for name in operations_of(member)} <= names
    assert operations_of("add") == ("addf", "addi")
    assert operations_of("max") == ("reduce",)
    assert operations_of("assert_") == ("assert",)
    assert operations_of("tanh") == ("tanh",)
    assert operations_of("bfloat16") == ()


def test_documentation_becomes_markdown() -> None:
    text = "Loads from :class:`Array`.\n\nA |tile space| with ``shape``.\n\nExamples:\n    .. testcode::\n\n        x = 1\n\nReturns:\n    Tile"
    shown = markdown(text)
    assert "`Array`" in shown and "A tile space with `shape`" in shown
    assert shown.count("```") == 2 and "testcode" not in shown


# --- how a script imports the library ---

BODY = "\n@{0}kernel\ndef k(a):\n    {0}lod(a)\n"
IMPORTS = {
    "import cuda.tile": "cuda.tile.",
    "import cuda.tile as ct": "ct.",
    "import torch, cuda.tile as ct": "ct.",
    "import a, cuda.tile as ct, b": "ct.",
    "import a, cuda.tile, b": "cuda.tile.",
    "import cuda.tile.tune": "cuda.tile.",
    "from cuda import tile": "tile.",
    "from cuda import tile as ct": "ct.",
    "from cuda import a, tile as ct": "ct.",
    "from cuda import (a,  # one (of them)\n    tile as ct)": "ct.",
    "from cuda import \\\n    tile as ct": "ct.",
    "import a, \\\n    cuda.tile as ct": "ct.",
    "import a; import cuda.tile as ct": "ct.",
    "x = 1; import cuda.tile as ct; y = 2": "ct.",
    "if True: import cuda.tile as ct": "ct.",
    "try:\n    import torch, cuda.tile as ct\nexcept ImportError:\n    ct = None": "ct.",
    "def f():\n    import torch, cuda.tile as ct": "ct.",
    "import  cuda . tile  as  ct": "ct.",
    "from  cuda  import  tile  as  ct": "ct.",
}


@pytest.mark.parametrize("statement", list(IMPORTS))
def test_every_form_of_import_is_recognized(statement: str) -> None:
    text = statement + BODY.format(IMPORTS[statement])
    assert found(text) == [("lod", "cuda.tile has no 'lod': did you mean 'load'?")]
    # While a text is typed it is no Python, but its names are known.
    typed = Script(text + "\nct.load(a, ")
    assert typed.tree is None and typed.modules == {IMPORTS[statement].removesuffix(".")}


@pytest.mark.parametrize(
    "statement",
    [
        "from cuda.tile import kernel, loda",
        "import a; from cuda.tile import kernel, loda",
        "from cuda.tile import (\n    kernel,\n    loda,\n)",
        "from cuda.tile import kernel; from cuda.tile import loda",
        "from cuda.tile import *; from cuda.tile import loda",
    ],
)
def test_every_form_of_imported_names_is_recognized(statement: str) -> None:
    text = f"{statement}\n@kernel\ndef k(a):\n    pass\n"
    assert found(text) == [("loda", "cuda.tile has no 'loda': did you mean 'load'?")]
    assert [kind for _node, kind in Script(text).kernels()] == ["kernel"]
    assert Script(f"{text}\nload(").names["kernel"] == "kernel"


def test_text_about_the_library_is_no_import() -> None:
    assert not Script('"""\nimport cuda.tile as ct\n"""\nfrom .cuda import tile\nfrom . import tile\n').uses_library
    assert not Script("import cuda.tilea as ct, cudatile\n").uses_library
