"""The options that several commands take, each declared once."""

from __future__ import annotations

from tileir.ir.declaration import HINT_MODES
from tileir.ir.versions import VERSION_NAMES
from tileir.tools.arguments import Option

_VERSIONS = "|".join(VERSION_NAMES)

# What is written.
OUTPUT = Option("-o, --output FILE", "where to write (default: standard output)")
OUTPUT_DIRECTORY = Option("--output-dir DIR", "write the output of each FILE there, under its name")
JSON = Option("--json", "print JSON")
HTML = Option("--html FILE", "write a page that needs nothing else")
QUIET = Option("-q, --quiet", "print only what is wrong: no counts, summaries or progress")
VERBOSE = Option("-v, --verbose", "print each step of the work")
DEBUG_INFO = Option("-g, --debug-info", "print locations")
VERSION = Option(
    f"--bytecode-version {_VERSIONS}", "the version to write (default: the newest that NVIDIA's assembler reads)"
)
LAYOUT = Option("--layout public|documented", "read the file in this layout (default: recognized by content)")

# How a program is read and verified, and its diagnostics are printed.
COLOR = Option(
    "--color auto|always|never", "colors: on a terminal (auto, the default), always or never", is_common=True
)
READING = (
    COLOR,
    Option(f"--dialect-version {_VERSIONS}", "the dialect a text is written in (default: the newest)", is_common=True),
    Option(f"--hints {'|'.join(HINT_MODES)}", "what to do about doubtful hints (default: ignore)", is_common=True),
    Option("--no-draft-spellings", "accept only the spellings that NVIDIA's tools accept", is_common=True),
    Option("-D, --define MACRO", "of a C++ file, a macro as NAME or NAME=VALUE; repeat for several", is_common=True),
    Option("-I, --include DIR", "of a C++ file, where its headers are; repeat for several", is_common=True),
    Option("--instance NAME", "of a C++ file, an instance of a template, as 'k<128>'; repeat", is_common=True),
    Option("--allow-unregistered-dialect", "accept operations of other dialects, in the generic form", is_common=True),
)

# Programs of scripts.
LAUNCH = Option("--launch N", "of a script, the launch whose kernel is taken, counted from 1")
SCRIPT = "A SCRIPT.py is run, as by tileir emulate; its output goes to standard error."
SCRIPT_ARGUMENTS = "Arguments after SCRIPT.py are passed to the script; put -- before those that begin with a dash."

# How a kernel is launched.
GRID = Option("--grid X[,Y[,Z]]", "the number of tile blocks along x, y and z (default: 1)")
ENTRY = Option("--entry NAME", "the kernel (default: the only one)")
ARG = Option("--arg WHAT", "an argument, as for tileir run; repeat for each parameter, in order")
LAUNCHING = (GRID, ENTRY, ARG)
BACKEND = Option("--backend NAME", "what runs it: cpu, interpreter, another one of tileir info, or auto (default)")
SCHEDULE = Option("--schedule ORDER", "the order of tile blocks: forward, reverse, random:SEED, interleaved")
NAMES = Option("--names script|tile", "names of values: of the Python script, if it is from one (default), or tile")
_SANITIZE = "report errors of the kernel, as 'tileir docs sanitizer' describes; all: also elements never written"
SANITIZE = Option("--sanitize[=errors|all]", _SANITIZE)
WATCH_NAN = Option("--watch-nan", "name every operation that produces a NaN or an infinity")
EXACT = Option("--exact", "mmaf as a chain of fused multiply-adds: the same bits on every machine")
FAST = Option("--fast", "faster functions and matmuls: results differ in their last bits")
TARGET = Option("--target NAME", "the GPU, as h100 or sm_90; repeat for several (default: that of this machine)")
OPTIMIZE = Option("-O 0|1|2|3", "how much to optimize")
PROVE = Option("--prove", "also report what 'tileir prove' refutes")

# Limits.
TIMEOUT = Option("--timeout SECONDS", "stop it after this time, as 2.5, 30s, 10m or 1h")
PROVE_TIMEOUT = TIMEOUT.with_help("the time for the proof of a kernel (default: 30s)")
MEMORY_LIMIT = Option("--memory-limit SIZE", "the most memory that it may take, as 512M or 4G")
RECORDING_LIMIT = MEMORY_LIMIT.with_help("the most memory that the recording takes, as 512M or 4G (default: 1G)")
JOBS = Option("-j, --jobs N", "how many processes work at a time (default: one for each processor)")
