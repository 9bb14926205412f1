"""`python -m tileir` is the `tileir` command."""

import sys

from tileir.tools.main import main

sys.exit(main())
