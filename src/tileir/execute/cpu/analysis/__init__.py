"""Facts about a kernel, told from its tile IR alone."""
