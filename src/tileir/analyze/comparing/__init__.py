"""Two runs of a kernel side by side: two engines, two precisions, two recordings."""
