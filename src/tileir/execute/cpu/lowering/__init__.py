"""From tile IR to the loop IR: what is computed together, and where tiles live.

Begin with `context` (the state of lowering) and `fusion` (the rules when a tile gets a buffer).  `tiles`, `memory` and
`control` lower each operation, `table` lists them.  `pointer_induction` rewrites loops that carry tiles of pointers
before they are lowered.  Matmuls are lowered in `tileir.execute.cpu.matmul`.
"""
