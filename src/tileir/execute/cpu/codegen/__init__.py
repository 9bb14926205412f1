"""From the loop IR to LLVM IR.

Begin with `worker` (the function that every thread runs), then `statements` (how each statement is emitted) and
`loop_nest` (loops over the elements of a shape, which evaluate expressions).  Beside them: `view_access`,
`pointer_access` and `atomics` (memory), `reductions`, `scalars` (scalars and control flow), `edge_versions` (code with
and without masks), `bounds` and `affine_tiles` (checks of addresses), `nontemporal` (hints to the caches).  All take an
`Emission` (`context`): the function being written, and what is known of the program at this point.
"""
