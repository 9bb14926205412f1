"""Many programs judged: each in a confined child process, on this machine or on many, into one table.

    items.py     what is judged: an `Item` is one program or one Python module of kernels, by content
    plans.py     what is done to each: a `Plan` (check, optimize, run, sanitize, compile, cost) and its `Limits`
    ended.py     how a child process ended, and who starts one
    verdicts.py  what came of it: a `Verdict`, one `Step` for each thing done
    causes.py    what failures are clustered by: messages without the names, numbers and places of one program
    chunks.py    `judge_chunk`: what is given to a thread, a process or another machine
    nursery.py   the server process of a thread, started and kept
    server.py    that process: it forks children (warming.py, children.py, child_processes.py, deaths.py, scratch.py;
                 starting.py: how a Python is started; spawning.py: where there is no fork)
    requests.py  what a server is asked: an item without what its children must not see
    messages.py  what goes through the pipes between them
    kernel_children.py  the children of a Python module with kernels (kernels/)
    judging/     what a child does: the steps of a plan
    confinement/ what a child may not do
    report/      what a file of results says
    reductions.py  each kind of failure with a small program that shows it (launched_kernels.py: of Python modules)
    inputs.py    what a sweep is given, as items (archives.py: hostile ones too)
    sweeping.py  `sweep`: handing_out.py is its loop, pace.py how large chunks are, crews.py and dask.py who judges
                 them, working.py what is handed to those, identity.py who they are, progress.py how far it is
    store.py     the file of results as it is written (schema.py its tables, locking.py), results.py as it is read

Items, plans and verdicts are plain values: they are pickled to other processes and machines, and written to the table
of results.
"""
