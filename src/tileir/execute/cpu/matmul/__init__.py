"""Matmuls of tiles, from the operation to its kernel; the terms are those of BLIS.

    recognize       tile IR to the `Matmul` statement, of an operation or a k-loop
    plan            which kernel suits a machine, the layout of its operands, values that it cannot multiply
    k_loop          the code: k-blocks, one after the other
    operands        where the tiles of A and B lie, how much of them is valid, and where C is stored
    pack            A and B into the layout of the plan, with zeros over an edge; the pack cache
    macrokernel     the register tiles of C
    microkernel     one of them, in vector registers or matrix tiles

To find a wrong result, multiply by an identity matrix: docs/internals/cpu.md, "Finding a wrong matmul result", has the
table from what is wrong to the function.
"""
