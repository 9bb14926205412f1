"""Matmuls of tiles, from the operation to its kernel; in the words of BLIS.

    mma             tile IR to the `Matmul` statement; `recognize` makes k-loops of loops of them, `affine` reads
                    pointers that a loop advances
    plan            which kernel suits a machine, and the layout of its operands
    store_target    where the result is stored
    k_loop          the code: k-blocks, one after the other; `operands` says where A and B lie, `packed_operands` has
                    them packed (`pack`, `pack_tile`)
    functions       functions beside the worker, which all of that calls; the pack cache
    macrokernel     the register tiles of C; `fma` and `amx` are the micro-kernels, `special_values` what they cannot
                    multiply

To find a wrong result, begin with `--dump loops` and the `plan` it names.
"""
