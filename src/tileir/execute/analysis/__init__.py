"""Facts about a kernel, derived from its tile IR alone, for any engine."""
