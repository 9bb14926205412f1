"""cuTile kernels and the programs that launch them, run by the engines of `execute`.

`launch` runs one kernel: `parameters` describes what it is compiled for, `recognition` finds an equal earlier launch.
`compiling`, `specialized` and `recording` are `tileir.compile` and `tileir.record`, `operators` is `tileir.custom_op`.
The rest is about whole programs: `emulate` and `process` run them in a context (`contexts`) in which `entry_points`
replaces cuTile's functions and `emulated` is a CUDA device; `native` runs compiled programs.  Begin with `launch` and
`emulate`.
"""
