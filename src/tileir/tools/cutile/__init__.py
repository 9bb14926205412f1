"""Commands that run cuTile scripts and show what their kernels do."""
