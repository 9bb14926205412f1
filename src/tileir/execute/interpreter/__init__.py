"""The reference interpreter: programs as closures over NumPy arrays."""
