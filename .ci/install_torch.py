"""Install torch for tests, which use it on the CPU: `python .ci/install_torch.py [VERSION]` of an environment.

On Linux the wheel (some 500 MB) comes without the gigabytes of CUDA libraries that it asks for: stub libraries replace
them (stub_cuda.py).  This takes a C compiler and readelf; where there is none, torch is left out.  A torch that is
already there stays.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

# Only the GPU needs these.  Tests need the newest triton, not the one that torch asks for.
CUDA = ("nvidia-", "cuda-", "triton")


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-warn-conflicts"]
    subprocess.run([*command, *arguments], check=True)


def install(wanted: str) -> None:
    if sys.platform != "linux":
        pip(wanted)
        return
    pip("--no-deps", wanted)
    from packaging.requirements import Requirement

    needed = [Requirement(text) for text in importlib.metadata.requires("torch") or []]
    pip(
        *(
            each.name
            for each in needed
            if not each.name.startswith(CUDA) and (not each.marker or each.marker.evaluate({"extra": ""}))
        )
    )
    folder = Path(importlib.metadata.distribution("torch").locate_file("torch")) / "lib"
    subprocess.run([sys.executable, Path(__file__).with_name("stub_cuda.py"), folder], check=True)
    subprocess.run([sys.executable, "-c", "import torch; torch.ones(2).sum().item()"], check=True)


def main() -> None:
    if importlib.util.find_spec("torch"):
        return
    version = sys.argv[1] if len(sys.argv) > 1 else ""
    missing = [tool for tool in ("cc", "readelf") if sys.platform == "linux" and not shutil.which(tool)]
    if missing:
        print(f"torch is left out: on Linux it takes {' and '.join(missing)}")
        return
    print(f"installing torch {version or '(the newest)'}: some 500 MB", flush=True)
    install(f"torch=={version}" if version else "torch")


if __name__ == "__main__":
    main()
