"""From tile IR to the loop form: what is computed together, and where tiles live."""
