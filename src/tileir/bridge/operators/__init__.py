"""Operators of torch and JAX made of cuTile kernels."""
