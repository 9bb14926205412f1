"""What an engine is, and which there are.

interface.py  `Backend`, the kernels it prepares, the options of a launch; begin here
registry.py   tileir's own engines, those that are registered or installed, and the choice for `backend="auto"`
"""
