"""The attributes and locations of a program, for people who read or build one in Python.

`operation.attribute("name")` returns an object of one of these classes; `operation.set_attribute`, the builder and
`Rewriter.create` take them.  There is one object for each: compare with `is`.

>>> from tileir.attributes import *
>>> from tileir.types import f32, i32, i64, tile
>>> array_attribute((integer_attribute(i32, 1), bool_attribute(True), float_attribute(f32, 0), string_attribute("x")))
[1 : i32, true, 0.000000e+00 : f32, "x"]
>>> dictionary_attribute({"type": type_attribute(f32), "kernel": symbol_attribute("k")})
{kernel = @k, type = f32}
>>> dense_array_attribute(i64, (1, 2))
array<i64: 1, 2>
>>> dense_attribute(tile((2,), i32), (2,), i32, numpy.array([1, 2], "i4").tobytes())
dense<[1, 2]> : !cuda_tile.tile<2xi32>
>>> bounded(0, 8), div_by(16), same_elements((1, 2)), unit_attribute
(#cuda_tile.bounded<0, 8>, #cuda_tile.div_by<16>, #cuda_tile.same_elements<[1, 2]>, unit)
>>> optimization_hints(dictionary_attribute({"sm_90": dictionary_attribute({"latency": integer_attribute(i32, 2)})}))
#cuda_tile.optimization_hints<sm_90 = {latency = 2 : i32}>
>>> here = file_location("k.py", 1, 2)
>>> fused_location((here, call_site_location(here, unknown_location), name_location("x", here)))
loc(fused["k.py":1:2, callsite("k.py":1:2 at unknown), "x"("k.py":1:2)])
>>> file = di_file("k.py", ".")
>>> kernel = di_subprogram(file, 1, "k", "k", di_compile_unit(file))
>>> di_location(here, di_lexical_block(kernel, file, 1, 1)).text[:40]
'#cuda_tile.di_loc<loc("k.py":1:2) in #cu'
"""

from tileir.public import publish

publish(__name__)
