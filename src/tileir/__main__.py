"""`python -m tileir` is the `tileir` command."""

from tileir.tools.main import command

command()
