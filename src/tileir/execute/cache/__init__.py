"""Compiled code on disk, for any engine that compiles.

code_cache.py         the cache: one file per kernel, named by a hash of all that the code depends on, as this
                      package's sources; begin here
private_files.py      files that nobody but the user can have made or changed; whether files have changed
structural_digest.py  a hash of a program by its structure
"""
