"""How an operator is made of a kernel: what it is given, what it makes, and how large the grid is.

A parameter of the kernel is an output, which the operator makes; a constant, which was given when the operator was
made; or an argument of the operator, in the kernel's order.  Whatever depends on arguments (grid, constants, shapes of
outputs, gradients) may be a function, which is given the parameters it names:

    grid=lambda x, TILE: (ct.cdiv(x.shape[0], TILE),)
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tileir.bridge.launch import known_for, launch
from tileir.execute.errors import LaunchError

Named = dict[str, Any]  # Values by the names of parameters.

ARRAY: Final = "array"
LIST: Final = "list of arrays"
_SCALARS: Final = (int, float, bool, str)


class TupleOf(NamedTuple):
    """A tuple, any number of items of one kind: `ARRAY`, or int, float, bool or str."""

    kind: Any


class Plan:
    """An operator, whatever library it is for."""

    def __init__(
        self,
        kernel: Any,
        grid: Any,
        outputs: Any,
        constants: Mapping[str, Any],
        mutates: Sequence[str],
        types: Mapping[str, Any],
        backward: Callable[..., Any] | None,
    ) -> None:
        known_for(kernel)
        function = kernel._annotated_function
        self.kernel: Any = kernel
        self.kernel_name: str = function.pyfunc.__name__
        self.parameters: list[str] = list(function.pysig.parameters)
        self.outputs: dict[str, Any] = self._outputs(outputs)
        self.constants: dict[str, Any] = dict(constants)
        self.mutates: list[str] = [mutates] if isinstance(mutates, str) else list(mutates)
        named = {"outputs": self.outputs, "constants": self.constants, "mutates": self.mutates, "types": types}
        for what, name in [(what, name) for what, names in named.items() for name in names]:
            if name not in self.parameters:
                there = f"there are {', '.join(self.parameters)}"
                raise LaunchError(f"{what} names '{name}', which is no parameter of {self.kernel_name}: {there}")
        self.arguments: list[str] = [name for name in self.parameters if name not in {*self.outputs, *self.constants}]
        """The names of what the operator is given, in order."""
        for name in self.mutates:
            if name not in self.arguments:
                raise LaunchError(f"'{name}' is in mutates, but it is not an argument of the operator: leave it out")
        self.types: dict[str, Any] = self._types(dict(types))
        """The type of each argument: `ARRAY`, `LIST`, int, float, bool or str, or a `TupleOf` these."""
        self._grid: Any = grid
        visible = [*self.arguments, *self.constants, *self.outputs]
        for what, value in (("grid", grid), *self.outputs.items(), *self.constants.items()):
            if callable(value):
                names_of(value, what, visible)
        self.backward: Callable[..., Any] | None = backward
        inner = getattr(backward, "plan", None)
        self._inner: Plan | None = inner if isinstance(inner, Plan) else None  # Of a backward that is an operator.
        self.needed: list[str] = [] if backward is None else self._backward_parameters(backward)

    # --- the arguments of `custom_op` ---

    def _outputs(self, given: Any) -> dict[str, Any]:
        if isinstance(given, Mapping):
            return dict(given)
        names = [given] if isinstance(given, str) else given
        if not isinstance(names, (tuple, list)) or not all(isinstance(name, str) for name in names):
            raise LaunchError(
                f"outputs is {given!r}: pass the name of a parameter, a list of names, or a dict from names to what "
                "they are like, as {'out': 'x'} or {'out': lambda x: (x.shape, x.dtype)}"
            )
        # Like the first array among the arguments.
        return dict.fromkeys(names)

    def _types(self, given: dict[str, Any]) -> dict[str, Any]:
        hints = typing.get_type_hints(self.kernel._annotated_function.pyfunc, include_extras=True)
        annotations = self.kernel._annotated_function.parameter_annotations
        found: dict[str, Any] = {}
        for name, node in zip(self.parameters, annotations, strict=True):
            if name not in self.arguments:
                continue
            hint = given.get(name, hints.get(name))
            plain = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
            if plain in _SCALARS:
                found[name] = plain
            elif (node.KIND == "leaf" and plain is tuple and not node.constant) or typing.get_origin(plain) is tuple:
                found[name] = TupleOf(self._kind_of_items(name, plain))
            elif node.constant:
                raise LaunchError(
                    f"'{name}' is a constant of {self.kernel_name}: give its value in constants, as "
                    f"{{'{name}': 16}}, or its type in types, as {{'{name}': int}}, to make it an argument"
                )
            elif node.scalar is not None:
                found[name] = int
            elif plain is list or typing.get_origin(plain) is list or node.list is not None:
                found[name] = LIST
            else:
                found[name] = ARRAY
        return found

    def _kind_of_items(self, name: str, hint: Any) -> Any:
        """What all items of a tuple are: frameworks have lists of tensors and of numbers, and no mixed ones."""
        kinds = []
        for item in typing.get_args(hint) or (None,):
            plain = typing.get_args(item)[0] if typing.get_origin(item) is typing.Annotated else item
            if plain is tuple or plain is list or typing.get_origin(plain) in (tuple, list):
                raise LaunchError(
                    f"'{name}' of {self.kernel_name} is a tuple with tuples or lists in it, which operators do not "
                    "take: give it in constants, or its items as parameters of their own"
                )
            if plain is not ...:
                kinds.append(plain if plain in _SCALARS else ARRAY)
        if len(set(kinds)) != 1:
            raise LaunchError(
                f"'{name}' of {self.kernel_name} is a tuple of different kinds, of which operators take only those of "
                "one: give it in constants, or its items as parameters of their own"
            )
        return kinds[0]

    # --- what follows from arguments ---

    @property
    def differentiable(self) -> list[str]:
        """The arguments that a gradient may be given for: arrays, and tuples of them."""
        return [name for name in self.arguments if self.types[name] in (ARRAY, TupleOf(ARRAY))]

    def arrays(self, named: Named) -> list[Any]:
        """The arrays among the arguments, also those in tuples."""
        found: list[Any] = []
        for name in self.differentiable:
            found.extend(named[name] if isinstance(self.types[name], TupleOf) else [named[name]])
        return found

    def named(self, arguments: Sequence[Any]) -> Named:
        """Arguments by name, and constants."""
        found = dict(zip(self.arguments, arguments, strict=True))
        for name, kind in self.types.items():
            if isinstance(kind, TupleOf):
                # torch has made a list of it.
                found[name] = tuple(found[name])
        for name, value in self.constants.items():
            found[name] = call(value, found) if callable(value) and not isinstance(value, type) else value
        return found

    def specification(self, name: str, named: Named) -> tuple[Any, Any, Any]:
        """The shape and dtype of an output, and the argument it is like, if there is one."""
        given = self.outputs[name]
        if callable(given):
            given = call(given, named)
        if given is None or isinstance(given, str):
            like: Any = next(iter(self.arrays(named)), None) if given is None else named.get(given)
            if like is None and given is None:
                raise LaunchError(f"no argument is an array that '{name}' could be like: give its shape and dtype")
            if not hasattr(like, "shape"):
                choices = ", ".join([each for each in self.arguments if self.types[each] is ARRAY])
                raise LaunchError(f"'{name}' is to be like '{given}', which is no argument: choose {choices}")
            return like.shape, like.dtype, like
        if hasattr(given, "shape") and hasattr(given, "dtype"):
            return given.shape, given.dtype, None
        if not isinstance(given, tuple) or len(given) != 2:
            raise LaunchError(f"'{name}' is to be {given!r}: give (shape, dtype), or the name of an argument")
        shape, dtype = given
        return tuple(shape) if hasattr(shape, "__iter__") else (shape,), dtype, None

    # --- gradients ---

    def _backward_parameters(self, backward: Callable[..., Any]) -> list[str]:
        """What the backward function is given, by name."""
        inner = self._inner
        visible = [*self.arguments, *self.constants, *self.outputs, *[f"grad_{name}" for name in self.outputs]]
        if inner is None:
            return names_of(backward, "backward", visible)
        for name in inner.arguments:
            if name not in visible:
                raise LaunchError(
                    f"backward is given '{name}', which is not known there: name its parameters as those of "
                    f"{self.kernel_name}, and the gradients grad_{next(iter(self.outputs))}"
                )
        for name in inner.outputs:
            if not name.startswith("grad_") or self.types.get(name.removeprefix("grad_")) is not ARRAY:
                raise LaunchError(
                    f"backward makes '{name}': name its outputs after the arguments whose gradients they are, as grad_x"
                )
        return inner.arguments

    def gradients(self, named: Named, grads: Sequence[Any]) -> Named:
        """What the backward function returns, by the names of arguments; `grads` are those of the outputs."""
        assert self.backward is not None, "there is one"
        named = named | dict(zip([f"grad_{name}" for name in self.outputs], grads, strict=True))
        found = self.backward(**{name: named[name] for name in self.needed})
        arrays = self.differentiable
        if not isinstance(found, dict):
            made = found if isinstance(found, (tuple, list)) else (found,)
            names = arrays if self._inner is None else [name.removeprefix("grad_") for name in self._inner.outputs]
            if len(made) != len(names):
                raise LaunchError(
                    f"backward returns {len(made)} gradients, but there are {', '.join(names)}: "
                    "give one for each, or a dict from names to gradients"
                )
            found = dict(zip(names, made, strict=True))
        for name in found:
            if name not in arrays:
                raise LaunchError(f"backward returns a gradient for '{name}': there are {', '.join(arrays)}")
        return dict(found)

    def launch(self, named: Named, outputs: Sequence[Any], options: dict[str, Any]) -> None:
        """Launch the kernel with arguments and outputs."""
        named = {**named, **dict(zip(self.outputs, outputs, strict=True))}
        grid = call(self._grid, named) if callable(self._grid) else self._grid
        launch(self.kernel, grid, tuple([named[name] for name in self.parameters]), **options)


def names_of(function: Callable[..., Any], what: str, visible: Sequence[str]) -> list[str]:
    """The parameters that a function names; all that there are where it takes any."""
    found: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            return list(visible)
        if parameter.kind is parameter.VAR_POSITIONAL or parameter.kind is parameter.POSITIONAL_ONLY:
            raise LaunchError(f"{what} is a function with unnamed parameters: name those of the kernel it needs")
        if parameter.name in visible:
            found.append(parameter.name)
        elif parameter.default is parameter.empty:
            raise LaunchError(
                f"{what} is a function of '{parameter.name}', which is not known there: it may name "
                f"{', '.join(visible)}"
            )
    return found


def call(function: Callable[..., Any], named: Named) -> Any:
    """A function of the parameters it names."""
    return function(**{name: named[name] for name in names_of(function, "this", list(named))})
