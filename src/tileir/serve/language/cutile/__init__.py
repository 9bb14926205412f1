"""cuTile scripts in the language server: Python files with `@ct.kernel` functions.

Nothing of the user's code runs while it is typed: the script is read by `ast`, and what `cuda.tile` has is asked of the
package that is installed.  Each module is built on those above it:

    library      what `cuda.tile` has: functions with their signatures and documentation, what kernels may be made of
    operations   the operations of Tile IR that its functions become
    script       a Python text: what its names of `cuda.tile` mean, its kernels, where the nodes of its tree stand
    calls        the call that a place in a text is in, also where the text is no Python yet
    checks       mistakes that can be seen without compiling
    launches     launches that comments state, for which kernels can be compiled
    compiling    kernels compiled by cuTile in a process of their own, when a file is saved and the settings allow it
    document     a script as an editor changes it, and what is known of it
    answers      hover, completion, signature help, types of tiles
"""
