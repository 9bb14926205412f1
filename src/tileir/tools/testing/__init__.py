"""Commands that test compilers: random programs, many programs in sandboxes, reduction."""
