"""Random programs that are valid and well-defined, with arguments and the results that any compiler must give.

    program.py       `smith(seed, ..)` and `SmithProgram`: the module, its launch, its expected results; families
    writer.py        the kernel being written: values in sight, operations, values made to order
    tiles.py         a value and what is known of it, memory and the order of its accesses: what keeps programs
                     well-defined; `Bits`, where all choices come from

The rest are statements, by what they exercise: `arithmetic.py`, `conversions.py`, `reductions.py`, ..
A statement appends one operation and whatever it needs, or fails.  `docs/tools/smith.md` lists what is never made,
and why.
"""
