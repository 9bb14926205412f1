"""The process that runs Triton: its compiler may abort, and takes a while to import.

stages.py   in that process: TTIR through Triton's stages
serving.py  that process: reads requests, writes answers
process.py  one process as this one sees it, with requests and answers
pool.py     all of them: begin with `compile_ttir`
"""
