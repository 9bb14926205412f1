"""The emulated `libcuda.so.1`: C that passes every call to Python, compiled by the C compiler of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

from tileir.bridge.native.driver import exported_names
from tileir.execute.errors import MissingDependencyError

NAME: Final = "libcuda.so.1"
# Python is that of the process if there is one.  A call may come from any thread, so this one does not keep the lock.
_SOURCE: Final = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

typedef unsigned long word;
static int (*dispatch)(int, word *);
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void end(int status, void *unused) {
    word given = status;
    int own = dispatch(-1, &given);
    if (own == status) return;
    fflush(NULL);
    _exit(own);
}

static void start(void) {
    Dl_info own;
    static char text[sizeof BEGIN + 4096];
    void *python = dlopen(NULL, RTLD_NOW);
    if (!dlsym(python, "PyGILState_Ensure")) python = dlopen(PYTHON, RTLD_NOW | RTLD_GLOBAL);
    if (!python || !dladdr((void *)&start, &own)) {
        fprintf(stderr, "tileir: %s\n", dlerror());
        return;
    }
    int (*is_initialized)(void) = dlsym(python, "Py_IsInitialized");
    int (*ensure)(void) = dlsym(python, "PyGILState_Ensure");
    int (*run)(const char *) = dlsym(python, "PyRun_SimpleString");
    void (*release)(int) = dlsym(python, "PyGILState_Release");
    if (!is_initialized()) {
        void (*set_name)(const wchar_t *) = dlsym(python, "Py_SetProgramName");
        void (*initialize)(int) = dlsym(python, "Py_InitializeEx");
        void *(*unlock)(void) = dlsym(python, "PyEval_SaveThread");
        set_name(PROGRAM);
        initialize(0);
        unlock();
    }
    snprintf(text, sizeof text, BEGIN, own.dli_fname, (word)&dispatch);
    int state = ensure();
    run(text);
    release(state);
    if (dispatch) on_exit(end, NULL);
}

static int call(int number, word *given) {
    pthread_once(&once, start);
    return dispatch ? dispatch(number, given) : 3;
}

#define FUNCTION(number, name)                                                                               \
    int name(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k) {       \
        word given[] = {a, b, c, d, e, f, g, h, i, j, k};                                                    \
        return call(number, given);                                                                          \
    }
"""
_BEGIN: Final = """\
import sys
sys.path += [each for each in {path!r} if each not in sys.path]
from tileir.bridge.native.driver import begin
begin('%s', %lu, {settings!r})
"""
_PROGRAMS: Final = "compiled programs run without a GPU"


def build(folder: Path, settings: str) -> None:
    """Compile the library into a folder; `settings` are those of TILEIR_EMULATE."""
    python = Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    if sys.platform != "linux":
        raise MissingDependencyError(f"{_PROGRAMS} on Linux only")
    if ".so" not in python.name or not python.is_file():
        raise MissingDependencyError(
            f"{_PROGRAMS} with a Python that has a shared library, which {sys.executable} has not: install libpython"
        )
    path = [os.path.abspath(each) for each in sys.path if each]
    begin = _BEGIN.format(path=path, settings=settings)
    words = {"PYTHON": _quoted(str(python)), "PROGRAM": f"L{_quoted(sys.executable)}", "BEGIN": _quoted(begin)}
    functions = [f"FUNCTION({number}, {name})" for number, name in enumerate(exported_names())]
    source = "\n".join([*[f"#define {name} {text}" for name, text in words.items()], _SOURCE, *functions, ""])
    command = [os.environ.get("CC") or "cc", "-shared", "-fPIC", "-O1", "-w", "-x", "c", "-", f"-Wl,-soname,{NAME}"]
    try:
        done = subprocess.run(
            [*command, "-o", str(folder / NAME), "-ldl", "-lpthread"], input=source.encode(), capture_output=True
        )
    except OSError as error:
        raise MissingDependencyError(f"{_PROGRAMS} with a C compiler: {command[0]} cannot be run ({error})") from None
    if done.returncode:
        raise MissingDependencyError(f"{_PROGRAMS} with a C compiler: {command[0]} fails\n{done.stderr.decode()}")


def _quoted(text: str) -> str:
    """A string of C."""
    plain = [chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in text.encode()]
    return f'"{"".join(plain)}"'
