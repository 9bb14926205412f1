"""Passes over tile programs before they are lowered: each gives an equal program that Triton makes faster code of.

simplify.py   loops that count become `for`, known values become constants, loads sink behind reductions
splitting.py  matmuls whose tiles do not fit, in halves; cutting.py: what is cut along which dimension
parts.py      operations on one part of each tile, and results stored in parts
"""
