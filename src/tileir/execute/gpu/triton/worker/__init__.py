"""The process that runs Triton: its compiler may abort, and takes a while to import.

stages.py   in that process: TTIR through Triton's stages
serving.py  that process: reads requests, writes answers
pool.py     the processes as this one sees them: begin with `compile_ttir`
"""
