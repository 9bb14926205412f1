"""Compiles layers of the package with mypyc: `python compile_layers.py SOURCES BUILT`.

It makes a library of all their modules, and a small one for each by which Python finds it.  Each module is a C file of
its own, and as many are compiled at a time as there are processors: one file of them all took a compiler nine minutes.
`hatch_build.py` calls it, in a process of its own, since it changes the directory.  Progress goes to stderr.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

LAYERS = ("ir", "dialect", "text", "bytecode", "rewrite", "passes")
# What they import beside one another.
BESIDE = ("annotations.py", "collector.py")
# Programs are read, printed and optimized as fast as at the second level, within 3 %, and the C compiler takes three
# fifths of the time.
LEVEL = "1"
# On Linux a library calls its own functions by way of a table, in case another library has them too, unless it is told.
LINKING = ["-Wl,-Bsymbolic-functions"] if sys.platform == "linux" else []


def modules(package: Path) -> list[str]:
    """The files that are compiled, seen from the directory that has the package's in it twice above."""
    found = [path for layer in LAYERS for path in sorted((package / layer).rglob("*.py"))]
    return [str(path.relative_to(package.parents[1])) for path in found if path.name != "__init__.py"]


def report(text: str) -> None:
    print(f"tileir: {text}", file=sys.stderr, flush=True)


def side_by_side(compile_one: Callable[..., list[str]], processors: int) -> Callable[..., list[str]]:
    """A compiler's function that compiles several files, each in a call of its own."""

    def compile_all(sources: list[str], *given: Any, **named: Any) -> list[str]:
        made: dict[str, list[str]] = {}
        # The longest first: none is left over at the end.
        ordered = sorted(sources, key=os.path.getsize, reverse=True)
        with ThreadPoolExecutor(processors) as pool:
            objects = pool.map(lambda source: compile_one([source], *given, **named), ordered)
            for source, paths in zip(ordered, objects, strict=True):
                made[source] = paths
                if len(made) % 20 == 0:
                    report(f"compiled {len(made)} of {len(ordered)} C files, the largest first")
        return [path for source in sources for path in made[source]]

    return compile_all


def compile_in(folder: Path, built: Path) -> None:
    """Compile the layers of `folder`/src, which has nothing else."""
    # Before mypyc, which looks whether it is there.
    import setuptools
    from mypyc.build import mypycify
    from setuptools.command.build_ext import build_ext

    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    class SideBySide(build_ext):
        def build_extensions(self) -> None:
            self.compiler.compile = side_by_side(self.compiler.compile, processors)
            # The library that has everything, then those that find a module in it.
            everything, self.extensions = self.extensions[:1], self.extensions[1:]
            report(f"compiling C files, {processors} at a time")
            for extension in everything:
                self.build_extension(extension)
            report(f"linking {len(self.extensions)} modules")
            self.parallel = processors
            super().build_extensions()

    os.chdir(folder)
    os.environ["MYPYPATH"] = "src"
    names = modules(folder / "src" / "tileir")
    report(f"translating {len(names)} modules to C")
    extensions = mypycify(
        ["--explicit-package-bases", "--config-file=", *names],
        opt_level=LEVEL,
        debug_level="0",
        multi_file=True,
        group_name="tileir",
        target_dir="c",
    )
    for extension in extensions:
        extension.extra_link_args += LINKING
    setuptools.setup(
        name="tileir",
        ext_modules=extensions,
        cmdclass={"build_ext": SideBySide},
        script_args=["--quiet", "build_ext", "--build-lib", str(built), "--build-temp", "objects"],
    )


def main(sources: Path, built: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        package = folder / "src" / "tileir"
        for layer in LAYERS:
            shutil.copytree(sources / "tileir" / layer, package / layer, ignore=shutil.ignore_patterns("__pycache__"))
        for file in BESIDE:
            shutil.copy(sources / "tileir" / file, package)
        # The real one names everything there is, all of which mypy would look at.
        (package / "__init__.py").write_text("")
        try:
            compile_in(folder, built)
        finally:
            # Windows removes no directory that a process is in.
            os.chdir(sources)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
