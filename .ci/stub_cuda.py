"""Write stand-ins for the CUDA libraries that PyTorch's wheel needs at import: `python .ci/stub_cuda.py TORCH_LIB`.

PyPI's Linux wheels of PyTorch import only beside some 2 GB of CUDA libraries.  Tests need none of them: they run on
the CPU.  Each stand-in defines the functions that PyTorch names, with their versions; each returns 100, which is
CUDA's code for "no device".  It takes a C compiler and readelf.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

PREFIXES = ("cu", "nccl", "nv", "Cupti")


def readelf(option: str, library: Path) -> str:
    return subprocess.run(["readelf", option, "-W", library], capture_output=True, text=True, check=True).stdout


def missing_functions(folder: Path) -> dict[str, dict[str, set[str]]]:
    """Return the functions of each library that is not in `folder`, by the version that PyTorch asks for."""
    present = {path.name for path in folder.iterdir()}
    stubs: dict[str, dict[str, set[str]]] = {}
    owner: dict[str, str] = {}
    undefined: set[tuple[str, str]] = set()
    for library in sorted(folder.glob("*.so*")):
        for name in re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", library)):
            if name not in present and name.startswith(tuple(f"lib{prefix.lower()}" for prefix in PREFIXES)):
                stubs.setdefault(name, defaultdict(set))
        needed = ""
        for line in readelf("-V", library).splitlines():
            if file := re.search(r"File: (\S+)", line):
                needed = file[1]
            elif version := re.search(r"Name: (\S+)", line):
                owner[version[1]] = needed
        for symbol, version in re.findall(r" UND (\w+)(?:@+(\S+))?", readelf("--dyn-syms", library)):
            undefined.add((symbol, version))
    for symbol, version in undefined:
        if owner.get(version) in stubs:
            stubs[owner[version]][version].add(symbol)
        elif not version and symbol.startswith(PREFIXES) and stubs:
            stubs[min(stubs)][""].add(symbol)
    return stubs


def write_stub(path: Path, versions: dict[str, set[str]], scratch: Path) -> None:
    """Compile a library whose functions return 100."""
    symbols = sorted(set().union(*versions.values()))
    source, script = scratch / "stub.c", scratch / "stub.map"
    source.write_text("".join(f"int {symbol}(void) {{ return 100; }}\n" for symbol in symbols))
    named = {version: found for version, found in versions.items() if version}
    script.write_text(
        "".join(f"{version} {{ global: {' '.join(f'{s};' for s in sorted(named[version]))} }};\n" for version in named)
    )
    options = [f"-Wl,--version-script={script}"] if named else []
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{path.name}", *options, "-o", path, source],
        check=True,
    )


def main() -> None:
    folder = Path(sys.argv[1])
    stubs = missing_functions(folder)
    with tempfile.TemporaryDirectory() as scratch:
        for name, versions in stubs.items():
            write_stub(folder / name, versions, Path(scratch))
    print(f"wrote {len(stubs)} stand-ins for CUDA libraries into {folder}")


if __name__ == "__main__":
    main()
