"""`explore`: a launch as a page, in the browser, in a notebook, or in a file."""

from __future__ import annotations

import html
import os
import threading
import webbrowser
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from tileir.execute.errors import LaunchError
from tileir.execute.recording.recording import LIMIT, Recording
from tileir.serve.explorer.export import SIZE, ExportedPage, exported
from tileir.serve.explorer.opening import launch_of, opened
from tileir.serve.explorer.pictures import memory_picture
from tileir.serve.explorer.questions import Explorer
from tileir.serve.explorer.server import ExplorerServer
from tileir.whole_files import write_file

_INLINE_SIZE = 4 << 20
"""What values may add to a page inside of a notebook, which is saved with it."""
_INLINE_HEIGHT = 760


def explore(
    kernel: Any,
    grid: int | tuple[int, ...] = 1,
    args: Sequence[object] | None = None,
    *,
    entry: str | None = None,
    schedule: str | None = None,
    memory_limit: int = LIMIT,
    target: str | Iterable[str] | None = None,
    compare: Mapping[str, Recording] | None = None,
    uninitialized: Iterable[object] = (),
    sanitize: bool | Literal["all"] = True,
    html: str | os.PathLike[str] | None = None,
    blocks: Iterable[int] | None = None,
    open: bool | None = None,
    port: int = 0,
) -> Exploration:
    """Launch a kernel, recorded, and show what it does in a page: stages, memory, values, findings, cost.

    The kernel is what `tileir.compile` takes or makes, or a cuTile kernel with the arguments of `tileir.launch`.  It
    runs in the interpreter, and arrays have the results, as after any launch.  Without `args` nothing runs, and the
    page shows the program and estimates.

    With `html` the page is written to a file that needs nothing else; it carries the values of `blocks`, by number, or
    of as many as fit.  Otherwise it is served to this machine, and a browser opens it unless `open` is false.
    `schedule` is the order of tile blocks, `memory_limit` bounds the recording, in bytes.  `target` is the GPU whose
    costs are shown, or several, by default all.  `compare` has other recordings to show beside this one, by their
    titles.  Findings are those of the sanitizer: `sanitize` and `uninitialized` are as for `tileir.record`.

    >>> tileir.explore(kernel, 8, args, html="page.html").title
    'vector_add: tileir explorer'
    """
    launch = launch_of(kernel, grid, args, entry)
    chosen = None if target is None else [target] if isinstance(target, str) else list(target)
    options = {"limit": memory_limit, "schedule": schedule, "uninitialized": uninitialized, "sanitize": sanitize}
    made = opened(launch, chosen, compare, **options)
    found = Exploration(made, port)
    if html is not None:
        found.export(html, blocks=blocks)
    if open if open is not None else html is None:
        found.open()
    return found


class Exploration:
    """A recorded launch and its page; made by `tileir.explore`."""

    def __init__(self, explorer: Explorer, port: int = 0) -> None:
        self._explorer = explorer
        self.recording: Recording | None = explorer.recording
        """The launch, or None if nothing ran."""
        self._port = port
        self._server: ExplorerServer | None = None
        self._closed = threading.Event()

    def __repr__(self) -> str:
        summary = self._explorer.summary
        where = f", {self._server.url}" if self._server is not None else ""
        return f"<Exploration of {summary['kernel']}, grid {tuple(summary['grid'])}{where}>"

    def answer(self, question: str, parameters: Mapping[str, str | int] | None = None) -> dict[str, Any]:
        """Return the answer to a question of the page; docs/tools/explore.md lists the questions."""
        return self._explorer.answer(question, parameters)

    @property
    def title(self) -> str:
        kernel, title = self._explorer.summary["kernel"], self._explorer.summary["title"]
        return f"{kernel if title in ('', kernel) else f'{kernel} in {title}'}: tileir explorer"

    @property
    def url(self) -> str:
        """The address of the page, for this machine only; reading it starts the server."""
        return self._started().url

    def open(self) -> bool:
        """Show the page in the user's browser; False if there is none."""
        return webbrowser.open(self._started().visiting_url())

    def wait(self) -> None:
        """Serve the page until `close` is called, or the user interrupts: for scripts, which would end otherwise."""
        self._started()
        try:
            # Waits that are not for ever can be interrupted everywhere.
            while not self._closed.wait(3600):
                pass
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Stop serving the page; it may be opened again."""
        self._closed.set()
        if self._server is not None:
            self._server.close()
            self._server = None

    def export(
        self, path: str | os.PathLike[str], *, blocks: Iterable[int] | None = None, size: int = SIZE
    ) -> list[str]:
        """Write the page to a file that opens anywhere, without a server or a network.

        It carries the values of some tile blocks: of those whose numbers are given, or of as many as make it no more
        than `size` bytes larger.  Returns what it leaves out, in sentences.
        """
        found = self.page(blocks=blocks, size=size)
        write_file(path, found.text.encode())
        return found.notes

    def page(self, *, blocks: Iterable[int] | None = None, size: int = SIZE) -> ExportedPage:
        """What `export` writes: its text, the tile blocks whose values it carries, and what it leaves out."""
        return exported(self._explorer, blocks=None if blocks is None else list(blocks), size=size)

    def picture(self, array: int | str | None = None, color: str = "block") -> str:
        """Draw an array as SVG, colored by the accesses to each element; it needs no browser.

        `array` is its name or number, by default the first that is written.  `color` is what colors stand for: "block"
        and "first block" for the last and first tile block that touched an element, "time" and "first time" for when,
        "count" for how often.
        """
        if self.recording is None:
            raise LaunchError("nothing was run, so there is no memory to draw: pass the arguments of the launch")
        if array is None:
            arrays = self.answer("summary")["arrays"]
            if not arrays:
                raise LaunchError("the launch has no arrays to draw")
            array = next((each["id"] for each in arrays if each["written"]), 0)
        return memory_picture(self.recording, array, color)

    def _repr_html_(self) -> str:
        """The page inside of a notebook; it can reach nothing of the notebook."""
        inline = html.escape(self.page(size=_INLINE_SIZE).text)
        return (
            f'<iframe sandbox="allow-scripts allow-downloads" title="{html.escape(self.title)}" width="100%" '
            f'height="{_INLINE_HEIGHT}" style="border: 1px solid #8888" srcdoc="{inline}"></iframe>'
        )

    def __enter__(self) -> Exploration:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> ExplorerServer:
        if self._server is None:
            self._closed.clear()
            self._server = ExplorerServer(self._explorer, self.title, self._port)
            self._server.start()
        return self._server
