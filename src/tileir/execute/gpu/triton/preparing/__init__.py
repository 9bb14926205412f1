"""Passes over tile programs before they are lowered: each gives an equal program that Triton makes faster code of.

splitting.py  matmuls whose tiles do not fit, in halves; cutting.py: what is cut along which dimension
parts.py      operations on one part of each tile, and results stored in parts
"""
