"""How the work of a tile block is laid out: `model.py` has the rules."""
