"""The process that runs Triton: its compiler may abort, and takes a while to import.

stages.py   that process: reads requests, has Triton's stages make code of TTIR, writes answers
pool.py     the processes as this one sees them: begin with `compile_ttir`
"""
