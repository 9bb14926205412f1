"""A recorded launch: every step, access and tile can be asked for, forwards and backwards, in bounded memory."""
