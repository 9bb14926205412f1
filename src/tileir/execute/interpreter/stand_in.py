"""Stands in for the arithmetic while it is being written."""
# mypy: ignore-errors
import numpy
from tileir.execute.dtypes import value_dtype
def float_binary(name, e, r, f): return {"addf":numpy.add,"subf":numpy.subtract,"mulf":numpy.multiply,"divf":numpy.true_divide}[name]
def integer_binary(name, e): return {"addi":numpy.add,"subi":numpy.subtract,"muli":numpy.multiply,"andi":numpy.bitwise_and,"ori":numpy.bitwise_or,"xori":numpy.bitwise_xor}[name]
def integer_compare(p, e, s): return {"less_than":numpy.less,"greater_than":numpy.greater,"equal":numpy.equal,"less_than_or_equal":numpy.less_equal,"greater_than_or_equal":numpy.greater_equal,"not_equal":numpy.not_equal}[p]
def float_unary(name, e, r, f): return {"exp":numpy.exp,"negf":numpy.negative,"absf":numpy.abs}[name]
def float_minmax(name, e, p, f): return numpy.fmax if "max" in name else numpy.fmin
def float_to_float(s,t,r):
    d=value_dtype(t)
    return lambda x: x.astype(d)
def integer_signed_binary(n,e,s): return {"remi":numpy.fmod,"maxi":numpy.maximum,"mini":numpy.minimum,"shri":numpy.right_shift}[n]
def matrix_float(l,a,x):
    d=value_dtype(a)
    def f(p,q,c):
        r=numpy.matmul(p.astype(d,copy=False),q.astype(d,copy=False)); r+=c; return r
    return f
