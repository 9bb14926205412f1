"""The launches that a proof is about.

contract      all that is assumed, with the source of each assumption
stated        assumptions as people write them
inference     what the accesses of a kernel require of its launches
launch_rules  the grid and the names of parameters, as a script writes them
"""
