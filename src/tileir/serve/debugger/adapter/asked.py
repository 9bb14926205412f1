"""What a request asks for: its arguments, each looked at when it is taken."""

from __future__ import annotations

from typing import Any

from tileir.serve.debugger.adapter.wire import Message


class RequestMistake(Exception):
    """A request that is refused; the message is for a person.  `short` is a word that clients know."""

    def __init__(self, message: str, short: str = "") -> None:
        super().__init__(message)
        self.message: str = message
        self.short: str = short


class Asked:
    """The arguments of a request, or an object among them; nothing in them can be relied on."""

    def __init__(self, given: object, of: str) -> None:
        if not isinstance(given, dict):
            raise RequestMistake(f"'{of}' is an object, not {_words(given)}")
        self._given: dict[str, Any] = given
        self._of: str = of

    def has(self, name: str) -> bool:
        return self._given.get(name) is not None

    def names(self) -> list[str]:
        return list(self._given)

    def any(self, name: str) -> Any:
        return self._given.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        value = self._given.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self._refused(name, "a text", value)
        return value

    def number(self, name: str, default: int | None = None) -> int:
        value = self._given.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 1 << 53:
            raise self._refused(name, "a whole number", value)
        return value

    def count(self, name: str, default: int | None = None) -> int:
        """A number that is not negative."""
        value = self.number(name, default)
        if value < 0:
            raise self._refused(name, "a number from 0 on", value)
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._given.get(name, default)
        if not isinstance(value, bool):
            raise self._refused(name, "true or false", value)
        return value

    def texts(self, name: str) -> list[str]:
        value = self._given.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self._refused(name, "a list of texts", value)
        return value

    def inner(self, name: str) -> Asked:
        return Asked(self._given.get(name) or {}, name)

    def objects(self, name: str) -> list[Asked]:
        value = self._given.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._refused(name, "a list", value)
        return [Asked(each, name) for each in value]

    def _refused(self, name: str, expected: str, value: object) -> RequestMistake:
        return RequestMistake(f"'{name}' of {self._of} is {expected}, not {_words(value)}")


def asked_in(request: Message) -> Asked:
    arguments = request.get("arguments")
    return Asked({} if arguments is None else arguments, f"'{request.get('command')}'")


def _words(value: object) -> str:
    if value is None:
        return "left out"
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
