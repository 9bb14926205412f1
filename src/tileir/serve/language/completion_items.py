"""Items of a list of completions: what is shown, and what replaces the word at the cursor."""

from __future__ import annotations

from lsprotocol import types as lsp

from tileir.serve.language.choosing import Piece
from tileir.serve.language.places import Place
from tileir.serve.language.snippets import plain_text, snippet_text

Kind = lsp.CompletionItemKind


class Items:
    """Collects items for a place.  They keep the order in which they are added, whatever their names are."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.found: dict[str, lsp.CompletionItem] = {}
        self.is_incomplete = False

    def add(
        self,
        label: str,
        kind: lsp.CompletionItemKind,
        detail: str = "",
        *,
        pieces: list[Piece] | None = None,
        documentation: str = "",
        description: str = "",
        start: int | None = None,
        data: dict[str, str] | None = None,
        filter_text: str | None = None,
    ) -> lsp.CompletionItem:
        """Offer something; `pieces` is what is written where that is more than the label, from `start` on."""
        known = self.found.get(label)
        if known is not None:
            return known
        place = self.place
        first = place.start if start is None else start
        snippets = place.document.settings.snippets
        text = label
        is_snippet = False
        if pieces is not None:
            is_snippet = snippets and any(not isinstance(piece, str) for piece in pieces)
            text = snippet_text(pieces) if is_snippet else plain_text(pieces)
        item = lsp.CompletionItem(
            label,
            kind=kind,
            detail=detail or None,
            sort_text=f"{len(self.found):05}",
            filter_text=filter_text,
            text_edit=lsp.TextEdit(place.document.range(first, place.offset), text),
            insert_text_format=lsp.InsertTextFormat.Snippet if is_snippet else None,
            insert_text_mode=lsp.InsertTextMode.AdjustIndentation if "\n" in text else None,
        )
        if documentation:
            item.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, documentation)
        if description:
            item.label_details = lsp.CompletionItemLabelDetails(description=description)
        if data is not None:
            item.data = data
        self.found[label] = item
        return item

    def as_list(self) -> lsp.CompletionList:
        return lsp.CompletionList(self.is_incomplete, list(self.found.values()))
