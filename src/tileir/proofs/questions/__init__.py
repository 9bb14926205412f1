"""The questions about every launch, and the claims that answer them.

questions  all claims about a kernel
context    what the questions share; settling: assumptions that would settle a claim
bounds     every access lies in its array
races      tile blocks, and accesses of one, do not conflict; locks: those that a lock orders
coverage   every element of the outputs is written, once
checks     loops end, integers do not wrap, divisors are not zero, assertions hold
"""
