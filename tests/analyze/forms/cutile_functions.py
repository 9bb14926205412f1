"""A function that kernels of another file call."""


def unused(x):
    return x


def twice(x):
    return x + x
