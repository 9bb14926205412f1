"""Operations that exist for NVIDIA's public test suite only; the drop-in tools import this, nothing else does."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.constraints import (
    ANY_TILE,
    DICTIONARY_ARRAY,
    FUNCTION_TYPE,
    INTEGER_I32,
    INTEGER_I64,
    SYMBOL_NAME,
    TOKEN_TYPE,
    UNIT_ATTRIBUTE,
    enum_attribute,
)
from tileir.dialect.ops.control_flow import RETURN
from tileir.dialect.rules import verify_function, verify_terminator
from tileir.ir.attributes import EnumKind, integer_attribute
from tileir.ir.declaration import (
    OPTIONAL,
    VARIADIC,
    OperationDeclaration,
    RegionDeclaration,
    attribute,
    operand,
    result,
)
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ISOLATED, SEGMENTS, SINGLE_BLOCK, SYMBOL
from tileir.ir.types import I32
from tileir.ir.versions import Version

# Bytecode versions no tool writes for users: what changes between them tries the gates by version.
V250_0: Final[Version] = (250, 0)
V250_1: Final[Version] = (250, 1)
TESTING_VERSIONS: Final[tuple[Version, ...]] = (V250_0, V250_1)

PRIORITY: Final = EnumKind("bytecode_test_priority", {"low": 0, "normal": 1, "high": 2})


TESTING_FUNC: Final[OperationDeclaration] = REGISTRY.add(
    OperationDeclaration(
        "testing$func",
        chapter="Testing",
        testing=True,
        summary="A function with arguments and results of any type",
        description=(
            "What `entry` is, without its restrictions: arguments may be tiles of any shape, views or tokens, and "
            "`return` may return values.  Tests use it to have values of every type at hand.  It cannot be launched "
            "and has no bytecode."
        ),
        example="testing$func @f(%t: tile<4xf32>) -> tile<4xf32> {\n  return %t : tile<4xf32>\n}",
        attributes=(
            attribute("sym_name", SYMBOL_NAME, "the name of the function"),
            attribute("function_type", FUNCTION_TYPE, "the types of the arguments and results"),
            attribute("arg_attrs", DICTIONARY_ARRAY, "attributes of the arguments", optional=True),
            attribute("res_attrs", DICTIONARY_ARRAY, "attributes of the results", optional=True),
        ),
        regions=(RegionDeclaration("body", 1, "the body", RETURN),),
        traits=ISOLATED | SYMBOL | SINGLE_BLOCK,
        verify=lambda operation, context: verify_function(operation),
        verify_regions=lambda operation, context: verify_terminator(operation),
        syntax="function",
    )
)
TESTING_BYTECODE_TEST_NEW_ATTRIBUTE: Final[OperationDeclaration] = REGISTRY.add(
    OperationDeclaration(
        "testing$bytecode_test_new_attribute",
        chapter="Testing",
        testing=True,
        since=V250_0,
        opcode=0x3000,
        summary="An operation that got attributes in a later version",
        example="testing$bytecode_test_new_attribute new_flag new_param = 123",
        attributes=(
            attribute("new_flag", UNIT_ATTRIBUTE, "a flag", optional=True, since=V250_1),
            attribute("new_param", INTEGER_I32, "a number", default=integer_attribute(I32, 42), since=V250_1),
        ),
        syntax="flag(new_flag) ('new_param' '=' $new_param)? attr-dict",
    )
)
TESTING_BYTECODE_TEST_EVOLUTION: Final[OperationDeclaration] = REGISTRY.add(
    OperationDeclaration(
        "testing$bytecode_test_evolution",
        chapter="Testing",
        testing=True,
        since=V250_0,
        opcode=0x3002,
        summary="An operation that got operands, results and attributes in a later version",
        example="%t = testing$bytecode_test_evolution(%x : !cuda_tile.tile<2xf32>) -> token",
        operands=(
            operand("inputs", ANY_TILE, "what it always took", VARIADIC),
            operand("optional_token", TOKEN_TYPE, "what happens before", OPTIONAL, since=V250_1),
        ),
        attributes=(
            attribute("new_attr", INTEGER_I32, "a number", optional=True, since=V250_1),
            attribute("priority", enum_attribute(PRIORITY, "test priority"), "a keyword", optional=True),
            # An attribute of its own in NVIDIA's sources, around one number.
            attribute("test_attr", INTEGER_I64, "another number", optional=True, since=V250_1),
        ),
        results=(result("result_token", TOKEN_TYPE, "what comes after", since=V250_1),),
        traits=SEGMENTS,
        syntax=(
            "'(' $inputs ':' full-type($inputs) ')' ('new_attr' '=' $new_attr)? "
            "('token' '=' $optional_token ':' type($optional_token))? ('priority' '=' '<' $priority '>')? "
            "('test_attr' '=' '<' $test_attr '>')? '->' type($result_token) attr-dict"
        ),
    )
)
