"""The engine that has Triton compile kernels: tile programs become TTIR, Triton's input language.

errors.py         what is raised where there is no code
options.py        what code is made for: `Schedule`, `Specialization`, `CodeOptions`
launch_values.py  numbers that are known when a kernel is launched, as expressions of its arguments
variants.py       the kinds of launches that code is made for
launch_views.py   the views of a kernel as launches know them
sites.py          how kernels write down what they print, and asserts that fail
code.py           compiled code with what a launch of it needs: threads, shared memory, what its parameters are
targets.py        what the GPUs have that matters here
versions.py       which Triton is installed, and what it spells differently
hints.py          what programs advise for a GPU
program.py        a kernel made ready to be lowered
preparing/        the passes over tile programs that do so
ttir/             types, names and the text of TTIR
lowering/         operation by operation, from tile programs to TTIR
schedule/         warps, stages and the like: the model and its rules
ttgir/            what Triton makes of TTIR, changed: warps that load and warps that compute
worker/           the process that runs Triton, and the requests to it; TTIR to code with the changes of ttgir/
compiling.py      a kernel to `Code`, out of the cache or made
making.py         how it is made, by all of the above
cached.py         what was made before, found without what makes it
stored_code.py    what the cache keeps of it
launching/        kernels and their launches, a code for each kind of them
tuning/           the search for a faster schedule
engine.py         the engine as the choice of one sees it

The folders in order, each uses those before it; `compiling.py` brings them together:

    schedule <- preparing <- ttir <- lowering
    ttgir <- worker <- tuning, launching
"""
