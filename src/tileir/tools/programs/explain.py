"""`tileir explain`: the documentation of an operation, type, attribute, keyword or version, in the terminal."""

from __future__ import annotations

import shutil
import sys

from tileir.analyze.documentation.numbers import number_pages
from tileir.analyze.documentation.pages import listed
from tileir.analyze.documentation.plain_text import WIDEST, overview_text, page_text, styled
from tileir.analyze.documentation.vocabulary import close_names, find
from tileir.annotations import Final
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, ToolFailure, Usage
from tileir.tools.command import command, complain
from tileir.tools.options import COLOR

USAGE: Final = Usage(
    "tileir explain",
    "[NAME...]",
    ("tileir explain mmaf", "tileir explain 0x49"),
    (COLOR,),
    """\
NAME is an operation, type, attribute, keyword, version, opcode or rule of lint; without one, all are listed. It may
carry its prefix (cuda_tile.addf, !cuda_tile.tile) or be one of the drafts' spellings (mulhi); a type may be written
out ('tile<4x8xf32>'). A number, such as 0x49 or 73, is an opcode, a tag or a section of bytecode.""",
    statuses={1: "there is no such name"},
)

_NARROWEST: Final = 60


@command(USAGE)
def run(given: Arguments) -> int:
    # As wide as the terminal within reason; the same everywhere when nobody watches.
    columns = shutil.get_terminal_size((WIDEST, 24)).columns if sys.stdout.isatty() else WIDEST
    width, color = max(_NARROWEST, min(columns, WIDEST)), given.wants_color(sys.stdout)
    status = EXIT_FINE
    texts: list[str] = [] if given.operands else [overview_text(width)]
    for name in given.operands:
        pages = find(name) or number_pages(name)
        texts.extend([page_text(page, width) for page in pages])
        if not pages:
            status = EXIT_WRONG_INPUT
            close = close_names(name)
            hint = f"did you mean {listed(close)}?" if close else "'tileir explain' lists what there is"
            complain(given, ToolFailure(f"nothing is known about '{name}'", help=hint))
    separator = "\n" + "-" * width + "\n\n"
    sys.stdout.write(styled(separator.join(texts), color))
    return status
