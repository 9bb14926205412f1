"""From the loop form to LLVM IR."""
