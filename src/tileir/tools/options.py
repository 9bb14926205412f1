"""The options that several commands take, each declared once."""

from __future__ import annotations

from tileir.ir.declaration import HINT_MODES
from tileir.ir.versions import VERSION_NAMES
from tileir.tools.arguments import Option

# What is written.
OUTPUT = Option("output", "where to write (default: standard output)", value="OUT", short="o")
OUTPUT_DIRECTORY = Option("output-dir", "write the output of each FILE there, under its name", value="DIR")
OVERWRITE = Option("overwrite", "let the output replace an input file of another kind")
JSON = Option("json", "print JSON")
QUIET = Option("quiet", "print less", short="q")
COLOR = Option(
    "color", "colors: on a terminal (auto, the default), always or never", choices=("auto", "always", "never")
)
# How a program is read and verified, and its diagnostics are printed.
READING_OPTIONS = (
    COLOR,
    Option("dialect-version", "the dialect a text is written in (default: the newest)", choices=VERSION_NAMES),
    Option("hints", "what to do about doubtful hints (default: ignore)", choices=HINT_MODES),
    Option("no-draft-spellings", "accept only the spellings NVIDIA's tools accept"),
    Option("allow-unregistered-dialect", "accept operations of other dialects, in the generic form"),
)
LAUNCH = Option("launch", "of a script, the launch whose kernel is taken, counted from 1", value="N")
VERSION = Option("bytecode-version", "the version to write (default: the newest of the layout)", choices=VERSION_NAMES)
SCRIPT = "A SCRIPT.py is run, as by tileir emulate; its output goes to standard error."
SCRIPT_ARGUMENTS = "Arguments after SCRIPT.py are passed to the script; put -- before those that begin with a dash."

# How a kernel is launched.
GRID = Option("grid", "the number of tile blocks along x, y and z (default: 1)", value="X[,Y[,Z]]")
ENTRY = Option("entry", "the kernel (default: the only one)", value="NAME")
ARG = Option("arg", "an argument, as for tileir run; repeat for each parameter, in order", value="WHAT")
LAUNCH_OPTIONS = (GRID, ENTRY, ARG)
BACKEND = Option(
    "backend", "the engine: cpu, interpreter, another one (see tileir info), or auto (default)", value="NAME"
)
SCHEDULE = Option("schedule", "the order of tile blocks: forward, reverse, random:SEED, interleaved", value="ORDER")
NAMES = Option(
    "names",
    "names of values: those of the Python script, if the program is from one (default), or tile",
    choices=("script", "tile"),
)
SANITIZE = Option(
    "sanitize",
    "find and explain mistakes of the kernel ('tileir docs sanitizer'); all: also elements never written",
    choices=("mistakes", "all"),
    bare="mistakes",
)
WATCH_NAN = Option("watch-nan", "name every operation that produces a NaN or an infinity")
EXACT = Option("exact", "mmaf as a chain of fused multiply-adds: the same bits on every machine")
TARGET = Option("target", "the GPU, as in sm_90 (default: that of this machine)", value="GPU")

# Limits.
TIMEOUT = Option("timeout", "stop what takes longer; exit status 124", value="SECONDS")
TIME_LIMIT = Option("time-limit", "the most time that one may take", value="SECONDS")
MEMORY_LIMIT = Option("memory-limit", "the most memory that one may have", value="GIB")
RECORDING_LIMIT = Option("memory", "the most that the recording takes, as 512M or 4G (default: 1G)", value="BYTES")
JOBS = Option("jobs", "how many processes work at a time (default: one for each processor)", value="N", short="j")
