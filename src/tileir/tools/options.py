"""The options that several commands take, each declared once."""

from __future__ import annotations

from tileir.ir.declaration import HINT_MODES
from tileir.ir.versions import VERSION_NAMES
from tileir.tools.arguments import Option

# What is written.
OUTPUT = Option("-o, --output OUT", "where to write (default: standard output)")
OUTPUT_DIRECTORY = Option("--output-dir DIR", "write the output of each FILE there, under its name")
OVERWRITE = Option("--overwrite", "let the output replace an input file of another kind")
JSON = Option("--json", "print JSON")
QUIET = Option("-q, --quiet", "print less")
COLOR = Option("--color auto|always|never", "colors: on a terminal (auto, the default), always or never")
# How a program is read and verified, and its diagnostics are printed.
READING_OPTIONS = (
    COLOR,
    Option(f"--dialect-version {'|'.join(VERSION_NAMES)}", "the dialect a text is written in (default: the newest)"),
    Option(f"--hints {'|'.join(HINT_MODES)}", "what to do about doubtful hints (default: ignore)"),
    Option("--no-draft-spellings", "accept only the spellings NVIDIA's tools accept"),
    Option("--allow-unregistered-dialect", "accept operations of other dialects, in the generic form"),
)
LAUNCH = Option("--launch N", "of a script, the launch whose kernel is taken, counted from 1")
_VERSIONS = "|".join(VERSION_NAMES)
VERSION = Option(f"--bytecode-version {_VERSIONS}", "the version to write (default: the newest of the layout)")
SCRIPT = "A SCRIPT.py is run, as by tileir emulate; its output goes to standard error."
SCRIPT_ARGUMENTS = "Arguments after SCRIPT.py are passed to the script; put -- before those that begin with a dash."

# How a kernel is launched.
GRID = Option("--grid X[,Y[,Z]]", "the number of tile blocks along x, y and z (default: 1)")
ENTRY = Option("--entry NAME", "the kernel (default: the only one)")
ARG = Option("--arg WHAT", "an argument, as for tileir run; repeat for each parameter, in order")
LAUNCH_OPTIONS = (GRID, ENTRY, ARG)
BACKEND = Option("--backend NAME", "the engine: cpu, interpreter, another one (see tileir info), or auto (default)")
SCHEDULE = Option("--schedule ORDER", "the order of tile blocks: forward, reverse, random:SEED, interleaved")
NAMES = Option(
    "--names script|tile", "names of values: those of the Python script, if it is from one (default), or tile"
)
_SANITIZE = "find and explain mistakes of the kernel ('tileir docs sanitizer'); all: also elements never written"
SANITIZE = Option("--sanitize[=mistakes|all]", _SANITIZE)
WATCH_NAN = Option("--watch-nan", "name every operation that produces a NaN or an infinity")
EXACT = Option("--exact", "mmaf as a chain of fused multiply-adds: the same bits on every machine")
TARGET = Option("--target GPU", "the GPU, as in sm_90 (default: that of this machine)")

# Limits.
TIMEOUT = Option("--timeout SECONDS", "stop what takes longer; exit status 124")
TIME_LIMIT = Option("--time-limit SECONDS", "the most time that one may take")
MEMORY_LIMIT = Option("--memory-limit GIB", "the most memory that one may have")
RECORDING_LIMIT = Option("--memory BYTES", "the most that the recording takes, as 512M or 4G (default: 1G)")
JOBS = Option("-j, --jobs N", "how many processes work at a time (default: one for each processor)")
