"""cuTile kernels in, results in the caller's arrays."""
