"""Matmuls of tiles, from the operation to its kernel; in the words of BLIS.

    recognize       tile IR to the `Matmul` statement, of an operation or a k-loop; `affine` reads pointers that a loop
                    advances, `store_target` finds where the result is stored
    plan            which kernel suits a machine, and the layout of its operands
    k_loop          the code: k-blocks, one after the other; `operands` says where A and B lie, `pack` packs them
    functions       functions beside the worker, which all of that calls; the pack cache
    macrokernel     the register tiles of C; `fma` and `amx` are the micro-kernels, `special_values` what they cannot
                    multiply

To find a wrong result, begin with `--dump loops` and the `plan` it names.
"""
