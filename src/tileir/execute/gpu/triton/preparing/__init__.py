"""Passes over tile programs before they are lowered: each gives an equal program that Triton makes faster code of."""
