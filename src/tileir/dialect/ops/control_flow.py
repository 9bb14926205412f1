"""Control flow (the operations draft, section 8.5): if, for, loop, the terminators that belong to them, assert."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.constraints import ANY_TYPE, I1_TILE, SCALAR_I1, SCALAR_INT, STRING, UNIT_ATTRIBUTE
from tileir.dialect.inference import Call, Inference, expected_results, expected_types, given_types
from tileir.dialect.rules import (
    quoted,
    result_types,
    value_types,
    verify_carried_values,
    verify_result_types,
    wrong_terminator,
)
from tileir.dialect.types import scalar_tile
from tileir.ir.attributes import TypeAttribute
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import (
    VARIADIC,
    OperationDeclaration,
    RegionDeclaration,
    VerifyContext,
    attribute,
    operand,
    result,
)
from tileir.ir.diagnostics import Code, Invalid, note
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import (
    ALLOCATION_SCOPE,
    BLOCK_ORDER,
    CONTROL_FLOW,
    ENDS_ITERATION,
    LOOP_LIKE,
    PURE,
    REGION_EFFECTS,
    SIDE_EFFECT,
    SINGLE_BLOCK,
    TERMINATOR,
)
from tileir.ir.types import I1, FunctionType, Type
from tileir.ir.versions import V13_2, V13_4

CHAPTER: Final = "Control flow"

_TERMINATOR_SYNTAX: Final = "attr-dict ($operands ':' type($operands))?"

ASSERT: Final[OperationDeclaration] = OperationDeclaration(
    "assert",
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
    inference=Inference(numbers={"condition": lambda call: scalar_tile(I1)}),
    syntax="$condition ',' $message attr-dict ':' type($condition)",
)


def _is_ended_by(declaration: OperationDeclaration, terminator: OperationDeclaration) -> bool:
    """Whether the terminator is the one that ends a region where the text has none."""
    for region in declaration.regions:
        if region.implicit_terminator is terminator:
            return True
    return False


def _verify_parent(operation: Operation, *others: OperationDeclaration) -> None:
    """A terminator is in an operation whose regions it ends where the text has none, or in one of `others`."""
    terminator = operation.declaration
    parent = operation.parent_operation
    if parent is None or not (parent.declaration in others or _is_ended_by(parent.declaration, terminator)):
        ended = [each for each in REGISTRY.declarations() if not each.testing and _is_ended_by(each, terminator)]
        names = sorted({each.name for each in (*ended, *others)})
        message = f"expects parent op to be one of '{', '.join(names)}'"
        raise Invalid(message, code=Code("misplaced-terminator"))


def _enclosing_loop(operation: Operation) -> Operation:
    """The loop that a break or continue belongs to; only ifs may stand in between.  A break cannot leave a `for`."""
    ancestor = operation.parent_operation
    while ancestor is not None and ancestor.declaration is IF:
        ancestor = ancestor.parent_operation
    is_break = operation.declaration is BREAK
    if ancestor is None or not (ancestor.declaration is LOOP if is_break else ancestor.declaration.is_loop):
        loops = (LOOP,) if is_break else REGISTRY.with_traits(LOOP_LIKE)
        chain = "', '".join([each.name for each in (*loops, IF)])
        notes = [note("see unexpected ancestor operation", ancestor.location)] if ancestor is not None else None
        raise Invalid(f"can only be nested within a ancestor chain of '{chain}' operations", notes=notes)
    return ancestor


def _verify_break(operation: Operation, context: VerifyContext) -> None:
    _verify_parent(operation, IF, LOOP)
    found = value_types(operation.operands)
    expected = result_types(_enclosing_loop(operation))
    if found != expected:
        raise Invalid(
            f"operand types must correspond to the parent loop result types: ({quoted(found)}) vs ({quoted(expected)})"
        )


def _verify_continue(operation: Operation, context: VerifyContext) -> None:
    _verify_parent(operation, IF)
    loop = _enclosing_loop(operation)
    found = value_types(operation.operands)
    # A for returns what its last iteration carried; a loop carries one set of values and returns another.
    if loop.declaration is LOOP:
        expected = value_types(loop.operands)
        what = "iter_values"
    else:
        expected = result_types(loop)
        what = "return types"
    if found != expected:
        raise Invalid(
            f"`{loop.declaration.mnemonic}` is missing a valid terminator. `continue` op should have operand types that "
            f"match the parent loop {what}: ({quoted(expected)}), but found: ({quoted(found)})",
            bare=True,
        )


def _verify_return(operation: Operation, context: VerifyContext) -> None:
    # 13.4 lets a kernel end from inside a loop (not from inside a for).
    inner = (IF, LOOP) if context.version >= V13_4 else (IF,)
    _verify_parent(operation, *inner)
    parent = operation.parent_operation
    while parent is not None and parent.declaration in inner:
        parent = parent.parent_operation
    if parent is None or not _is_ended_by(parent.declaration, RETURN):
        if len(inner) == 1:
            raise Invalid("must be used within a cuda_tile.entry, or cuda_tile.if operation")
        raise Invalid("must be used within a cuda_tile.entry, cuda_tile.if, or cuda_tile.loop operation")
    function_type = parent.attributes.get("function_type")
    if not isinstance(function_type, TypeAttribute) or not isinstance(function_type.type, FunctionType):
        return  # The function itself is in error.
    expected = function_type.type.results
    name = parent.symbol_name
    if len(operation.operands) != len(expected):
        raise Invalid(
            f"has {len(operation.operands)} operands, but enclosing function (@{name}) returns {len(expected)}"
        )
    if not parent.declaration.testing and expected:
        raise Invalid(f"has {len(expected)} operands, but entry function must return 0 operands")
    for position, value in enumerate(operation.operands):
        if value.type is not expected[position]:
            raise Invalid(
                f"type of return operand {position} ('{value.type.text}') doesn't match function result type "
                f"('{expected[position].text}') in function @{name}",
                bare=True,
            )


def _carried_to_parent(call: Call) -> list[Type] | None:
    around = call.block.parent_operation
    return expected_types(around, call.declaration) if around is not None else None


def _carried_to_loop(call: Call) -> list[Type] | None:
    """What the loop around expects, as far as it is known already; branches in between carry nothing."""
    around = call.block.parent_operation
    while around is not None and around.declaration is IF:
        around = around.parent_operation
    return expected_types(around, call.declaration) if around is not None else None


BREAK: Final[OperationDeclaration] = OperationDeclaration(
    "break",
    section="8.5.2",
    opcode=0x0A,
    summary="Leave a loop",
    description=(
        "Ends the innermost `loop` around it, which returns the operands as its results.  Only `if` may stand "
        "in between: a `for` cannot be left early."
    ),
    example="break %x : tile<f32>",
    operands=(operand("operands", ANY_TYPE, "the results of the loop", VARIADIC),),
    traits=TERMINATOR | ENDS_ITERATION,
    verify=_verify_break,
    inference=Inference(carried=_carried_to_loop),
    syntax=_TERMINATOR_SYNTAX,
)
CONTINUE: Final[OperationDeclaration] = OperationDeclaration(
    "continue",
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
    traits=TERMINATOR | ENDS_ITERATION,
    verify=_verify_continue,
    inference=Inference(carried=_carried_to_loop),
    syntax=_TERMINATOR_SYNTAX,
)
RETURN: Final[OperationDeclaration] = OperationDeclaration(
    "return",
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
    verify=_verify_return,
    syntax=_TERMINATOR_SYNTAX,
)
YIELD: Final[OperationDeclaration] = OperationDeclaration(
    "yield",
    section="8.5.8",
    opcode=0x6D,
    summary="Pass values to the operation around",
    description=(
        "Ends a branch of `if` or the body of `reduce` or `scan`; the operands become the results of the branch or "
        "of the combination.  Loops end in `continue` and `break` instead.  A branch of an `if` without results "
        "that ends without a terminator ends in `yield`."
    ),
    example="yield %x : tile<f32>",
    operands=(operand("operands", ANY_TYPE, "the values to pass", VARIADIC),),
    traits=PURE | TERMINATOR,
    verify=lambda operation, context: _verify_parent(operation),
    inference=Inference(carried=_carried_to_parent),
    syntax=_TERMINATOR_SYNTAX,
)


def _verify_terminator(operation: Operation, block: Block, allowed: tuple[OperationDeclaration, ...]) -> None:
    """The first of `allowed` is the one that stands where the text has none."""
    last = block.last
    if last is not None and last.declaration not in allowed:
        raise wrong_terminator(operation, last, allowed[0])


def _verify_branch(operation: Operation, block: Block, name: str) -> None:
    last = block.last
    if last is None or last.declaration is not YIELD:
        return  # The branch leaves the if for good.
    found = value_types(last.operands)
    expected = result_types(operation)
    if expected and not found:
        raise Invalid(f"has return type of {quoted(expected)} but {name} branch does not yield anything")
    if found and not expected:
        raise Invalid(f"does not return a value, but {name} branch yields {quoted(found)}")
    if found != expected:
        raise Invalid(
            f"type does not match yield type, {name} branch yields {quoted(found)} "
            f"but op result type is {quoted(expected)}"
        )


def _verify_if(operation: Operation, context: VerifyContext) -> None:
    for number, region in enumerate(operation.regions):
        if region.blocks and region.blocks[0].arguments:
            raise Invalid(f"region #{number} should have no arguments")
    verify_result_types(operation)
    if not operation.regions or not operation.regions[0].blocks:
        raise Invalid("must define then branch")
    _verify_branch(operation, operation.regions[0].blocks[0], "then")
    if len(operation.regions) < 2 or not operation.regions[1].blocks:
        if operation.results:
            raise Invalid("has non-empty return type, must define else branch")
        return
    _verify_branch(operation, operation.regions[1].blocks[0], "else")


def _verify_if_regions(operation: Operation, context: VerifyContext) -> None:
    for region in operation.regions:
        for block in region.blocks:
            _verify_terminator(operation, block, (YIELD, BREAK, CONTINUE, RETURN))


def _verify_for_regions(operation: Operation, context: VerifyContext) -> None:
    if not operation.regions[0].blocks or len(operation.operands) < 3:
        return  # Reported already.
    body = operation.regions[0].blocks[0]
    _verify_terminator(operation, body, (CONTINUE,))
    if not body.arguments:
        raise Invalid("expected at least one block argument for induction variable")
    bound = operation.operands[0].type
    if body.arguments[0].type is not bound:
        raise Invalid(
            "expected induction variable to be same type as bounds and step: "
            f"'{body.arguments[0].type.text}' vs '{bound.text}'"
        )
    verify_carried_values(operation, operation.operands[3:], body.arguments[1:])


def _verify_loop_regions(operation: Operation, context: VerifyContext) -> None:
    if not operation.regions[0].blocks:
        return  # Reported already.
    body = operation.regions[0].blocks[0]
    allowed = (CONTINUE, BREAK, RETURN) if context.version >= V13_4 else (CONTINUE, BREAK)
    _verify_terminator(operation, body, allowed)
    verify_carried_values(operation, operation.operands, body.arguments)


def _expected_by_loop(around: Operation, terminator: OperationDeclaration) -> list[Type] | None:
    """The next iteration takes what the first one took."""
    if terminator is CONTINUE:
        return value_types(around.init_values)
    return expected_results(around, terminator)


FOR: Final[OperationDeclaration] = OperationDeclaration(
    "for",
    section="8.5.4",
    opcode=0x29,
    summary="Loop over a range of integers",
    description=(
        "Runs its body for lowerBound, lowerBound + step, and so on, as long as that is less than upperBound: not "
        "at all when the range is empty.  The comparison is signed, or unsigned with `unsigned`.  A step that is "
        "not positive is undefined.  The body gets the induction variable and the carried values; its `continue` "
        "passes them on, and the last ones (the initial ones of an empty range) are the results.  Views cannot be "
        "carried.  Memory of an `alloca` in the body is freed after each iteration."
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
            "region", 1, "the body; its arguments are the induction variable and the carried values", CONTINUE, "for"
        ),
    ),
    traits=CONTROL_FLOW | LOOP_LIKE | REGION_EFFECTS | ALLOCATION_SCOPE | SINGLE_BLOCK,
    same_types=(("lowerBound", "upperBound", "step"), ("initValues", "resultValues")),
    verify_regions=_verify_for_regions,
    name_hints=("for",),
    inference=Inference(lambda call: call.types("initValues"), expects=_expected_by_loop),
    syntax="for",
)
IF: Final[OperationDeclaration] = OperationDeclaration(
    "if",
    section="8.5.5",
    opcode=0x32,
    summary="Choose between two branches",
    description=(
        "Runs the first branch if the condition is true, otherwise the second one, if there is one.  A branch that "
        "ends in `yield` returns its operands as the results; one that ends in `break`, `continue` or `return` "
        "leaves the construct around instead.  With results both branches are needed.  Views cannot be results."
    ),
    example="%r = if %c -> (tile<f32>) {\n  yield %a : tile<f32>\n} else {\n  yield %b : tile<f32>\n}",
    operands=(operand("condition", SCALAR_I1, "which branch to take"),),
    fixed_types={"condition": scalar_tile(I1)},
    results=(result("results", ANY_TYPE, "what the branch taken yields", VARIADIC),),
    regions=(
        RegionDeclaration("thenRegion", 1, "taken when the condition is true", YIELD),
        RegionDeclaration("elseRegion", -1, "taken when the condition is false; may be empty", YIELD),
    ),
    traits=CONTROL_FLOW | REGION_EFFECTS | SINGLE_BLOCK,
    verify=_verify_if,
    verify_regions=_verify_if_regions,
    name_hints=("",),
    inference=Inference(given_types, optional=("types",)),
    syntax="if",
)
LOOP: Final[OperationDeclaration] = OperationDeclaration(
    "loop",
    section="8.5.6",
    opcode=0x41,
    summary="Loop until a break",
    description=(
        "Runs its body again and again until a `break`, whose operands are the results.  `continue` starts the "
        "next iteration with its operands as carried values.  Results and carried values may differ in number and "
        "type (docs/reference/conflicts.md C12).  Views can be neither.  Memory of an `alloca` in the body is freed "
        "after each iteration."
    ),
    example=("%r = loop iter_values(%a = %x) : tile<i32> -> tile<f32> {\n  break %y : tile<f32>\n}"),
    operands=(operand("initValues", ANY_TYPE, "the carried values of the first iteration", VARIADIC),),
    results=(result("resultValues", ANY_TYPE, "the operands of the break", VARIADIC),),
    regions=(RegionDeclaration("region", 1, "the body; its arguments are the carried values", CONTINUE),),
    traits=CONTROL_FLOW | LOOP_LIKE | REGION_EFFECTS | ALLOCATION_SCOPE | SINGLE_BLOCK,
    verify_regions=_verify_loop_regions,
    name_hints=("",),
    inference=Inference(given_types, optional=("types",), expects=_expected_by_loop),
    syntax="loop",
)
