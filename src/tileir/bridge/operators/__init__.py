"""`tileir.op`: operators of torch and JAX made of cuTile kernels.

`op` is the function, `plan` what is common to both libraries, `torch_operators` and `jax_operators` the rest.
"""
