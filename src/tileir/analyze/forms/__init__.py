"""A program in each of its forms, from the script to machine code; every line knows the operations it comes from."""
