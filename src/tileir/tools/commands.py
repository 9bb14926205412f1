"""The table of commands: what each does, and where it is."""

from __future__ import annotations

# The commands under the headings of the help, each with a line about it, and the folder with their files.
GROUPS = {
    "run kernels": "cutile",
    "programs": "programs",
    "bytecode and GPU": "bytecode",
    "testing": "testing",
    "more": "more",
}
COMMANDS = {
    "emulate": ("Run a program that launches kernels of cuTile or Triton, without a GPU", "cutile.emulate"),
    "debug": ("Debug a kernel at a terminal or in an editor, forwards and backwards", "cutile.debug"),
    "explore": ("Show in the browser what a kernel does: stages, memory, values, findings, cost", "cutile.explore"),
    "cost": ("Estimate what a launch costs on a GPU or on this processor, and why", "cutile.cost"),
    "check": ("Report every error in programs at its position", "programs.check"),
    "lint": ("Give advice about correct programs: what is useless, slow or doubtful", "programs.lint"),
    "prove": ("Prove what holds in every launch of a kernel, or show a launch that fails", "programs.prove"),
    "format": ("Lay out texts, keeping names and comments", "programs.format"),
    "opt": ("Read a program, verify it, optimize it on request, and print it", "programs.opt"),
    "diff": ("Show what is different about two programs, and what they compute differently", "programs.diff"),
    "explain": ("Show the documentation of an operation, type, attribute, opcode or lint rule", "programs.explain"),
    "info": ("Show what is in a program; without one, versions and backends", "programs.info"),
    "as": ("Write programs as bytecode", "bytecode.assemble"),
    "dis": ("Print the programs in bytecode files, as NVIDIA's disassembler does", "bytecode.disassemble"),
    "objdump": ("Show every byte of a bytecode file and what it means", "bytecode.objdump"),
    "compile": ("Compile kernels for GPUs, by NVIDIA's assembler or Triton; no GPU is needed", "bytecode.compile"),
    "tune": ("Search for the schedule with which Triton's code of a kernel is fastest", "bytecode.tune"),
    "run": ("Run a kernel and show what it wrote", "bytecode.run"),
    "smith": ("Write random valid programs with their launch and expected results", "testing.smith"),
    "reduce": ("Make a program smaller while it stays interesting", "testing.reduce"),
    "judge": ("Judge a kernel that may be wrong or dishonest: a candidate for a task", "testing.judge"),
    "sweep": ("Run many programs in sandboxes; store results in SQLite", "testing.sweep"),
    "report": ("Show what a sweep found: a table, failures grouped by cause, a page", "testing.report"),
    "lsp": ("Serve editors: the language server", "more.lsp"),
    "mcp": ("Serve agents: tools by the Model Context Protocol", "more.mcp"),
    "docs": ("Print a page of the documentation", "more.documents"),
    "completion": ("Print a script that completes command lines in bash, zsh or fish", "more.completion"),
}
