"""What a launch costs on a GPU, which need not be here, or on this processor: from counts, peaks and a model.

The counts are `execute/work`'s, the peaks of GPUs `execute/gpu/peaks.py`'s; docs/tools/cost.md describes the model and
how far off it is.

    costs.py          `cost`: kernels, modules, files and cuTile kernels in, a `Cost` out
    estimating.py     one kernel, one target
    targets.py        the targets by name
    occupancy.py      how many tile blocks a multiprocessor holds; waves and tail of a grid
    gpu_model.py      how long a launch takes on a GPU, with the reasons
    processor.py      what this processor can do, measured, and how long a launch takes on it, with the reasons
    result.py         `Cost`, with its text and HTML
"""
