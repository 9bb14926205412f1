"""Control flow (the operations draft, section 8.5): if, for, loop, the terminators that belong to them, assert."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.constraints import (
    ANY_TYPE,
    I1_TILE,
    SCALAR_I1,
    SCALAR_INT,
    STRING,
    UNIT_ATTRIBUTE,
    same_type,
)
from tileir.dialect.control_flow_rules import (
    CONTINUE_NAME,
    YIELD_NAME,
    verify_break,
    verify_continue,
    verify_for_regions,
    verify_if,
    verify_if_regions,
    verify_loop_regions,
    verify_return,
    verify_yield,
)
from tileir.dialect.types import scalar_tile
from tileir.ir.declaration import (
    ALLOCATION_SCOPE,
    BLOCK_ORDER,
    PURE,
    REGION_EFFECTS,
    REGISTRY,
    SIDE_EFFECT,
    SINGLE_BLOCK,
    TERMINATOR,
    V13_2,
    VARIADIC,
    OperationDeclaration,
    RegionDeclaration,
    attribute,
    operand,
    result,
)
from tileir.ir.types import I1

_TERMINATOR_SYNTAX: Final = "attr-dict ($operands ':' type($operands))?"

ASSERT: Final[OperationDeclaration] = REGISTRY.add(
    OperationDeclaration(
        "assert",
        chapter="Control flow",
        section="8.5.1",
        opcode=0x05,
        summary="Report an error if a condition is false",
        description=(
            "For each element that is false, prints the message with the element's index.  If there is one, the host "
            "learns of the error; the kernel may keep running, this tile block included.  Meant for debugging: it "
            "costs time and is best removed from finished programs."
        ),
        example='assert %c, "index out of range" : tile<4xi1>',
        operands=(operand("condition", I1_TILE, "what must hold, element by element"),),
        attributes=(attribute("message", STRING, "the text to print"),),
        traits=SIDE_EFFECT | BLOCK_ORDER,
        syntax="$condition ',' $message attr-dict ':' type($condition)",
    )
)

BREAK: Final[OperationDeclaration] = REGISTRY.add(
    OperationDeclaration(
        "break",
        chapter="Control flow",
        section="8.5.2",
        opcode=0x0A,
        summary="Leave a loop",
        description=(
            "Ends the innermost `loop` around it, which gives back the operands as its results.  Only `if` may stand "
            "in between: a `for` cannot be left early."
        ),
        example="break %x : tile<f32>",
        operands=(operand("operands", ANY_TYPE, "the results of the loop", VARIADIC),),
        traits=TERMINATOR,
        verify=verify_break,
        syntax=_TERMINATOR_SYNTAX,
    )
)

CONTINUE: Final[OperationDeclaration] = REGISTRY.add(
    OperationDeclaration(
        "continue",
        chapter="Control flow",
        section="8.5.3",
        opcode=0x11,
        summary="Go to the next iteration",
        description=(
            "Ends the current iteration of the innermost `for` or `loop` around it; the operands are the carried "
            "values of the next one.  Only `if` may stand in between.  After the last iteration of a `for` they are "
            "its results.  A body that ends without a terminator and carries nothing ends in `continue`."
        ),
        example="continue %x : tile<f32>",
        operands=(operand("operands", ANY_TYPE, "the values carried to the next iteration", VARIADIC),),
        traits=TERMINATOR,
        verify=verify_continue,
        syntax=_TERMINATOR_SYNTAX,
    )
)

FOR: Final[OperationDeclaration] = REGISTRY.add(
    OperationDeclaration(
        "for",
        chapter="Control flow",
        section="8.5.4",
        opcode=0x29,
        summary="Loop over a range of integers",
        description=(
            "Runs its body for lowerBound, lowerBound + step, and so on, as long as that is less than upperBound: not "
            "at all when the range is empty.  The comparison is signed, or unsigned with `unsigned`.  A step that is "
            "not positive is undefined.  The body gets the induction variable and the carried values; its `continue` "
            "passes them on, and the last ones (the initial ones of an empty range) are the results.  Views cannot be "
            "carried.  Memory of an `alloca` in the body is given back after each iteration."
        ),
        example=(
            "%r = for %i in (%lb to %ub, step %s) : tile<i32> iter_values(%a = %x) -> (tile<f32>) {\n"
            "  continue %a : tile<f32>\n"
            "}"
        ),
        operands=(
            operand("lowerBound", SCALAR_INT, "the first value"),
            operand("upperBound", SCALAR_INT, "the end of the range, not part of it"),
            operand("step", SCALAR_INT, "the distance between values"),
            operand("initValues", ANY_TYPE, "the carried values of the first iteration", VARIADIC),
        ),
        attributes=(
            attribute("unsignedCmp", UNIT_ATTRIBUTE, "compare with the bound as unsigned", optional=True, since=V13_2),
        ),
        results=(result("resultValues", ANY_TYPE, "the carried values after the last iteration", VARIADIC),),
        regions=(
            RegionDeclaration(
                "region",
                blocks=1,
                documentation="the body; its arguments are the induction variable and the carried values",
                implicit_terminator=CONTINUE_NAME,
                arguments="for",
            ),
        ),
        traits=REGION_EFFECTS | ALLOCATION_SCOPE | SINGLE_BLOCK,
        same_types=(("lowerBound", "upperBound", "step"), ("initValues", "resultValues")),
        rules=(same_type("lowerBound", "upperBound", "step"), same_type("initValues", "resultValues")),
        verify_regions=verify_for_regions,
        name_hints=("for",),
        syntax="for",
    )
)

IF: Final[OperationDeclaration] = REGISTRY.add(
    OperationDeclaration(
        "if",
        chapter="Control flow",
        section="8.5.5",
        opcode=0x32,
        summary="Choose between two branches",
        description=(
            "Runs the first branch if the condition is true, otherwise the second one, if there is one.  A branch that "
            "ends in `yield` gives its operands as the results; one that ends in `break`, `continue` or `return` "
            "leaves the construct around instead.  With results both branches are needed.  Views cannot be results."
        ),
        example="%r = if %c -> (tile<f32>) {\n  yield %a : tile<f32>\n} else {\n  yield %b : tile<f32>\n}",
        operands=(operand("condition", SCALAR_I1, "which branch to take"),),
        fixed_types={"condition": scalar_tile(I1)},
        results=(result("results", ANY_TYPE, "what the branch taken yields", VARIADIC),),
        regions=(
            RegionDeclaration("thenRegion", 1, "taken when the condition is true", implicit_terminator=YIELD_NAME),
            RegionDeclaration(
                "elseRegion", -1, "taken when the condition is false; may be empty", implicit_terminator=YIELD_NAME
            ),
        ),
        traits=REGION_EFFECTS | SINGLE_BLOCK,
        verify=verify_if,
        verify_regions=verify_if_regions,
        syntax="if",
    )
)

LOOP: Final[OperationDeclaration] = REGISTRY.add(
    OperationDeclaration(
        "loop",
        chapter="Control flow",
        section="8.5.6",
        opcode=0x41,
        summary="Loop until a break",
        description=(
            "Runs its body again and again until a `break`, whose operands are the results.  `continue` starts the "
            "next iteration with its operands as carried values.  Results and carried values may differ in number and "
            "type (docs/conflicts.md C12).  Views can be neither.  Memory of an `alloca` in the body is given back "
            "after each iteration."
        ),
        example=("%r = loop iter_values(%a = %x) : tile<i32> -> tile<f32> {\n  break %y : tile<f32>\n}"),
        operands=(operand("initValues", ANY_TYPE, "the carried values of the first iteration", VARIADIC),),
        results=(result("resultValues", ANY_TYPE, "the operands of the break", VARIADIC),),
        regions=(
            RegionDeclaration(
                "region",
                blocks=1,
                documentation="the body; its arguments are the carried values",
                implicit_terminator=CONTINUE_NAME,
            ),
        ),
        traits=REGION_EFFECTS | ALLOCATION_SCOPE | SINGLE_BLOCK,
        verify_regions=verify_loop_regions,
        syntax="loop",
    )
)

RETURN: Final[OperationDeclaration] = REGISTRY.add(
    OperationDeclaration(
        "return",
        chapter="Control flow",
        section="8.5.7",
        opcode=0x5C,
        summary="End the kernel",
        description=(
            "Ends the execution of the tile block.  An entry returns nothing, so it has no operands there.  It may "
            "stand in the body of the entry and in nested `if`s, from 13.4 on also in `loop`, never in a `for`."
        ),
        example="return",
        operands=(operand("operands", ANY_TYPE, "the values to return", VARIADIC),),
        traits=TERMINATOR,
        verify=verify_return,
        syntax=_TERMINATOR_SYNTAX,
    )
)

YIELD: Final[OperationDeclaration] = REGISTRY.add(
    OperationDeclaration(
        "yield",
        chapter="Control flow",
        section="8.5.8",
        opcode=0x6D,
        summary="Give values to the operation around",
        description=(
            "Ends a branch of `if` or the body of `reduce` or `scan`; the operands become the results of the branch or "
            "of the combination.  Loops end in `continue` and `break` instead.  A branch of an `if` without results "
            "that ends without a terminator ends in `yield`."
        ),
        example="yield %x : tile<f32>",
        operands=(operand("operands", ANY_TYPE, "the values to give", VARIADIC),),
        traits=PURE | TERMINATOR,
        verify=verify_yield,
        syntax=_TERMINATOR_SYNTAX,
    )
)
