"""Operation by operation, from tile programs to TTIR; `lower.py` lowers a kernel, `roster.py` says who lowers what."""
