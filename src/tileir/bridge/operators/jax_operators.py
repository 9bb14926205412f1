"""Functions of JAX made of cuTile kernels: a callback on the host, inside of whatever JAX makes of the rest."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

import numpy

from tileir.bridge.operators.plan import LIST, Named, Plan, TupleOf
from tileir.execute.errors import LaunchError, MissingDependencyError


class JaxOperator:
    """A function of arrays of JAX, which can be traced, compiled, batched, and differentiated if it has a backward."""

    def __init__(self, plan: Plan, options: dict[str, Any]) -> None:
        try:
            import jax
        except ImportError as missing:
            raise MissingDependencyError(f"operators of JAX need jax ({missing}): pip install jax") from None
        if plan.mutates:
            raise LaunchError("arrays of JAX cannot be changed: make what the kernel writes an output")
        self.plan: Plan = plan
        self._jax: Any = jax
        self._options: dict[str, Any] = options
        self._arrays: list[str] = plan.differentiable
        if LIST in plan.types.values():
            raise LaunchError("operators of JAX take no lists of arrays: give each array a parameter")
        self.__name__: str = plan.kernel_name
        self.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in plan.arguments])
        self.__doc__ = f"{plan.kernel_name}({', '.join(plan.arguments)}) as a function of JAX"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        plan, named = self.plan, self.__signature__.bind(*arguments, **keywords).arguments
        numbers = [name for name in plan.arguments if name not in self._arrays]
        scalars = {name: self._scalar(name, named[name], plan.types[name]) for name in numbers}
        arrays = [self._array(name, named[name]) for name in self._arrays]
        if plan.backward is None:
            return self._forward(arrays, scalars)
        # The numbers are no part of what is differentiated.
        differentiable = self._jax.custom_vjp(lambda *given: self._forward(given, scalars))
        differentiable.defvjp(
            lambda *given: self._saved(given, scalars), lambda saved, grads: self._gradients(saved, grads, scalars)
        )
        return differentiable(*arrays)

    def _array(self, name: str, value: Any) -> Any:
        asarray, is_tuple = self._jax.numpy.asarray, isinstance(self.plan.types[name], TupleOf)
        return tuple([asarray(each) for each in value]) if is_tuple else asarray(value)

    def _scalar(self, name: str, value: Any, kind: Any) -> Any:
        if isinstance(kind, TupleOf):
            return tuple([self._scalar(name, each, kind.kind) for each in value])
        if isinstance(value, self._jax.core.Tracer):
            raise LaunchError(
                f"'{name}' is a number of the kernel {self.__name__}, but JAX traces it: make it static, as "
                f"jax.jit(f, static_argnames='{name}')"
            )
        return kind(value)

    def _named(self, arrays: Any, scalars: Named) -> Named:
        given = dict(zip(self._arrays, arrays, strict=True)) | scalars
        return self.plan.named([given[name] for name in self.plan.arguments])

    def _forward(self, arrays: Any, scalars: Named) -> Any:
        jax = self._jax
        named = self._named(arrays, scalars)
        shapes = []
        for output in self.plan.outputs:
            shape, dtype, _ = self.plan.specification(output, named)
            shapes.append(jax.ShapeDtypeStruct(tuple(shape), dtype))
        found = jax.pure_callback(
            lambda *given: self._run(given, scalars, shapes), tuple(shapes), *arrays, vmap_method="sequential"
        )
        return found[0] if len(found) == 1 else found

    def _run(self, arrays: Any, scalars: Named, shapes: list[Any]) -> tuple[Any, ...]:
        """The launch itself, on the host."""
        named = self._named(self._jax.tree_util.tree_map(numpy.asarray, arrays), scalars)
        outputs = [numpy.empty(shape.shape, shape.dtype) for shape in shapes]
        self.plan.launch(named, outputs, self._options)
        return tuple(outputs)

    def _saved(self, arrays: Any, scalars: Named) -> tuple[Any, Any]:
        found = self._forward(arrays, scalars)
        return found, (arrays, found if isinstance(found, tuple) else (found,))

    def _gradients(self, saved: Any, grads: Any, scalars: Named) -> tuple[Any, ...]:
        arrays, outputs = saved
        named = self._named(arrays, scalars) | dict(zip(self.plan.outputs, outputs, strict=True))
        found = self.plan.gradients(named, grads if isinstance(grads, tuple) else (grads,))
        zeros = self._jax.tree_util.tree_map(self._jax.numpy.zeros_like, arrays)
        values = [found.get(name, zero) for name, zero in zip(self._arrays, zeros, strict=True)]
        return tuple([tuple(each) if isinstance(each, list) else each for each in values])
