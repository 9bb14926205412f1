"""Facts about a kernel, derived from its tile IR alone, for any backend: values, memory, the order of tokens."""
