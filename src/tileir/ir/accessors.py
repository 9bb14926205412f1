# Written by `make docs` from the declarations; edit those, or src/tileir/tools/accessor_properties.py.
# fmt: off
"""A property for each operand, attribute and result that an operation declares, by its name in snake case.

An operand or result is a `Value`, an optional one a `Value` or None, a variadic one a list.  An enum attribute is its
keyword, a unit attribute whether it is present; numbers, strings, types and arrays are Python values.
An attribute that shares its name with an operand of other operations ends in `_attribute`.
Asked of an operation that does not declare the name, a property raises `AttributeError`.
"""

from __future__ import annotations

from tileir.ir.attributes import Attribute
from tileir.ir.dense import DenseAttribute
from tileir.ir.named_parts import NamedParts
from tileir.ir.types import Type
from tileir.ir.values import Value


class Accessors(NamedParts):
    """The declared parts of an operation by name."""

    __slots__ = ()

    @property
    def acc(self) -> Value:
        return self._value("acc")
    @property
    def alignment(self) -> int:
        return self._integer("alignment")
    @property
    def arg(self) -> Value:
        return self._value("arg")
    @property
    def arg_attrs(self) -> tuple[Attribute, ...] | None:
        return self._array("arg_attrs")
    @property
    def args(self) -> list[Value]:
        return self._values("args")
    @property
    def base(self) -> Value:
        return self._value("base")
    @property
    def block_id_x(self) -> Value:
        return self._value("blockId_x")
    @property
    def block_id_y(self) -> Value:
        return self._value("blockId_y")
    @property
    def block_id_z(self) -> Value:
        return self._value("blockId_z")
    @property
    def cmp(self) -> Value:
        return self._value("cmp")
    @property
    def comparison_ordering(self) -> str | None:
        return self._keyword("comparison_ordering")
    @property
    def comparison_predicate(self) -> str:
        return self._required("comparison_predicate", self._keyword("comparison_predicate"))
    @property
    def cond(self) -> Value:
        return self._value("cond")
    @property
    def condition(self) -> Value:
        return self._value("condition")
    @property
    def constant(self) -> bool:
        return self._attribute("constant") is not None
    @property
    def destination(self) -> Value:
        return self._value("destination")
    @property
    def dim(self) -> int:
        return self._integer("dim")
    @property
    def dynamic_shape(self) -> list[Value]:
        return self._values("dynamicShape")
    @property
    def dynamic_strides(self) -> list[Value]:
        return self._values("dynamicStrides")
    @property
    def exponent(self) -> Value:
        return self._value("exponent")
    @property
    def fast_acc(self) -> bool:
        return self._attribute("fast_acc") is not None
    @property
    def flush_to_zero(self) -> bool:
        return self._attribute("flush_to_zero") is not None
    @property
    def from_(self) -> Value:
        return self._value("from")
    @property
    def function_type(self) -> Type:
        return self._type("function_type")
    @property
    def global_(self) -> bool:
        return self._attribute("global") is not None
    @property
    def grid_size_x(self) -> Value:
        return self._value("gridSize_x")
    @property
    def grid_size_y(self) -> Value:
        return self._value("gridSize_y")
    @property
    def grid_size_z(self) -> Value:
        return self._value("gridSize_z")
    @property
    def identities(self) -> tuple[Attribute, ...]:
        return self._required("identities", self._array("identities"))
    @property
    def inbounds(self) -> tuple[int, ...] | None:
        return self._integers("inbounds")
    @property
    def index(self) -> list[Value]:
        return self._values("index")
    @property
    def indices(self) -> list[Value]:
        return self._values("indices")
    @property
    def init_values(self) -> list[Value]:
        return self._values("initValues")
    @property
    def inputs(self) -> list[Value]:
        return self._values("inputs")
    @property
    def lhs(self) -> Value:
        return self._value("lhs")
    @property
    def lhs_scale(self) -> Value:
        return self._value("lhs_scale")
    @property
    def lower_bound(self) -> Value:
        return self._value("lowerBound")
    @property
    def mask(self) -> Value | None:
        return self._optional_value("mask")
    @property
    def memory_ordering_semantics(self) -> str:
        return self._required("memory_ordering_semantics", self._keyword("memory_ordering_semantics"))
    @property
    def memory_scope(self) -> str | None:
        return self._keyword("memory_scope")
    @property
    def message(self) -> str:
        return self._required("message", self._string("message"))
    @property
    def mode(self) -> str:
        return self._required("mode", self._keyword("mode"))
    @property
    def num_elem(self) -> int:
        return self._integer("num_elem")
    @property
    def offset(self) -> Value:
        return self._value("offset")
    @property
    def optimization_hints(self) -> Attribute | None:
        return self._attribute("optimization_hints")
    @property
    def outputs(self) -> list[Value]:
        return self._values("outputs")
    @property
    def overflow(self) -> str:
        return self._required("overflow", self._keyword("overflow"))
    @property
    def padding_value(self) -> Value | None:
        return self._optional_value("paddingValue")
    @property
    def permutation(self) -> tuple[int, ...]:
        return self._required("permutation", self._integers("permutation"))
    @property
    def pointers(self) -> Value:
        return self._value("pointers")
    @property
    def predicate(self) -> Attribute:
        return self._required("predicate", self._attribute("predicate"))
    @property
    def producer(self) -> str | None:
        return self._string("producer")
    @property
    def propagate_nan(self) -> bool:
        return self._attribute("propagate_nan") is not None
    @property
    def ptr(self) -> Value:
        return self._value("ptr")
    @property
    def res_attrs(self) -> tuple[Attribute, ...] | None:
        return self._array("res_attrs")
    @property
    def result_token(self) -> Value:
        return self._value("result_token")
    @property
    def result_values(self) -> list[Value]:
        return self._values("resultValues")
    @property
    def reverse(self) -> bool:
        return self._integer("reverse") != 0
    @property
    def rhs(self) -> Value:
        return self._value("rhs")
    @property
    def rhs_scale(self) -> Value:
        return self._value("rhs_scale")
    @property
    def rounding(self) -> str:
        return self._required("rounding", self._keyword("rounding"))
    @property
    def rounding_mode(self) -> str:
        return self._required("rounding_mode", self._keyword("rounding_mode"))
    @property
    def saturating(self) -> bool:
        return self._attribute("saturating") is not None
    @property
    def scope(self) -> str:
        return self._required("scope", self._keyword("scope"))
    @property
    def signedness(self) -> str:
        return self._required("signedness", self._keyword("signedness"))
    @property
    def signedness_lhs(self) -> str:
        return self._required("signedness_lhs", self._keyword("signedness_lhs"))
    @property
    def signedness_rhs(self) -> str:
        return self._required("signedness_rhs", self._keyword("signedness_rhs"))
    @property
    def source(self) -> Value:
        return self._value("source")
    @property
    def src(self) -> Value:
        return self._value("src")
    @property
    def step(self) -> Value:
        return self._value("step")
    @property
    def str_(self) -> str:
        return self._required("str", self._string("str"))
    @property
    def sym_name(self) -> str | None:
        return self._string("sym_name")
    @property
    def sym_visibility(self) -> str | None:
        return self._string("sym_visibility")
    @property
    def symbol_visibility(self) -> str:
        return self._required("symbol_visibility", self._keyword("symbol_visibility"))
    @property
    def tensor_view(self) -> Value:
        return self._value("tensor_view")
    @property
    def tile(self) -> Value:
        return self._value("tile")
    @property
    def to(self) -> Value:
        return self._value("to")
    @property
    def token(self) -> Value | None:
        return self._optional_value("token")
    @property
    def tokens(self) -> list[Value]:
        return self._values("tokens")
    @property
    def unsigned_cmp(self) -> bool:
        return self._attribute("unsignedCmp") is not None
    @property
    def upper_bound(self) -> Value:
        return self._value("upperBound")
    @property
    def val(self) -> Value:
        return self._value("val")
    @property
    def val_if_false(self) -> Value:
        return self._value("val_if_false")
    @property
    def val_if_true(self) -> Value:
        return self._value("val_if_true")
    @property
    def value(self) -> Value:
        return self._value("value")
    @property
    def value_attribute(self) -> DenseAttribute:
        return self._dense("value")
    @property
    def view(self) -> Value:
        return self._value("view")
    @property
    def x(self) -> Value:
        return self._value("x")
    @property
    def y(self) -> Value:
        return self._value("y")
