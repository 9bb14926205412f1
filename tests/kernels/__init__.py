"""Kernels written in cuTile that stand for the programs users have.

Each topical module holds kernels and a list `CASES` of what to export from them; `export` turns a case
into bytecode and into the text NVIDIA's disassembler prints for it. No GPU and no CUDA driver is needed.
"""
