"""Counted work: what a launch moves and computes, from the program, its grid and its arguments, without running it.

A tile block is walked with the integers evaluated that decide loops, branches and places in memory; the tiles
themselves are not.  Tiles of pointers, offsets and masks are known as far as they are ramps: numbers that grow evenly
along each dimension.  So tiles over the edge of an array count with what lies inside.  Nothing here needs NumPy.

    counting.py     count_work: which tile blocks are walked, and for how many others each stands
    walker.py       one tile block: control flow, and the bytes of each access; only the values that decide those
    evaluation.py   what such a value is: a ramp, whose memory it points to, a mask, a view; the operations on them
    operations.py   what one execution of an operation computes, and how often it waits: for memory, for its own warps;
                    the counts, as a table and as a dictionary
"""
