"""cuTile scripts: Python files with `@ct.kernel` functions.  Each module is built on those above it:

library      what the installed `cuda.tile` has, and the operations that its functions become
script       a Python text: its names of `cuda.tile`, its calls, the launches that comments state
checks       errors that can be found without compiling
compilation  kernels compiled in a child process, when a file is saved and the settings allow it
document     a script as an editor changes it, and the features for scripts

Nothing of a script runs while it is typed.
"""
