"""Requests in, one response to each: what reads them, who answers them and when."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from tileir.ir.diagnostics import TileIRError
from tileir.serve.debugger.adapter.asked import Asked, RequestMistake, asked_in
from tileir.serve.debugger.adapter.wire import Malformed, Message, Wire
from tileir.serve.debugger.evaluation import ExpressionMistake


class Answer:
    """What a request is answered with, and what is done when that has been sent."""

    def __init__(self, body: Message | None = None, then: Callable[[], object] | None = None) -> None:
        self.body: Message | None = body
        self.then: Callable[[], object] | None = then


class Deferred:
    """The answer comes later, from whoever was handed the request."""


DEFERRED: Final = Deferred()
Handler = Callable[[Any, Asked, Message], "Answer | Deferred"]


class Dispatcher:
    """Reads the requests of a client on one thread, and answers them in order on another.

    Some are answered by the thread that reads, because they are about those before them.
    """

    def __init__(
        self,
        wire: Wire,
        state: object,
        requests: Mapping[str, Handler],
        at_once: Mapping[str, Handler],
        gone: Callable[[], None],
    ) -> None:
        """`gone` is called when the client has no more to say."""
        self._wire: Wire = wire
        self._gone: Callable[[], None] = gone
        self._requests: dict[str, Callable[[Asked, Message], Answer | Deferred]] = {}
        self._at_once: frozenset[str] = frozenset(at_once)
        for name, handler in [*requests.items(), *at_once.items()]:
            self._requests[name] = _of(handler, state)
        self._waiting: deque[Message] = deque()
        self._arrived: threading.Condition = threading.Condition()
        self._is_over: bool = False

    def start(self) -> None:
        threading.Thread(target=self._read, name="tileir debug adapter: reads", daemon=True).start()
        threading.Thread(target=self._work, name="tileir debug adapter: answers", daemon=True).start()

    def _read(self) -> None:
        while True:
            message = self._wire.read()
            if message is None:
                break
            if isinstance(message, Malformed):
                self._wire.event("output", category="important", output=f"tileir: {message.why}\n")
            elif message.get("type") != "request":
                # This adapter asks nothing, so a response answers nothing.
                if message.get("type") != "response":
                    self._wire.event("output", category="important", output="tileir: a message is no request\n")
            elif not isinstance(message.get("seq"), int) or isinstance(message.get("seq"), bool):
                self._wire.event("output", category="important", output="tileir: a request has no number\n")
            elif message.get("command") in self._at_once:
                self._answer(message)
            else:
                with self._arrived:
                    self._waiting.append(message)
                    self._arrived.notify_all()
        self._gone()
        self.close()

    def _work(self) -> None:
        while True:
            with self._arrived:
                while not self._waiting and not self._is_over:
                    self._arrived.wait()
                if not self._waiting:
                    return
                message = self._waiting.popleft()
            self._answer(message)

    def close(self) -> None:
        """Answer what has arrived, and nothing more."""
        with self._arrived:
            self._is_over = True
            self._arrived.notify_all()

    def cancel(self, sequence: int) -> bool:
        """Refuse a request that nobody has begun to answer."""
        with self._arrived:
            found = [message for message in self._waiting if message.get("seq") == sequence]
            for message in found:
                self._waiting.remove(message)
        for message in found:
            self._wire.refuse(message, "the request was cancelled", "cancelled")
        return bool(found)

    def _answer(self, message: Message) -> None:
        """Whatever happens, there is one response, and the adapter goes on."""
        command = message.get("command")
        handler = self._requests.get(command) if isinstance(command, str) else None
        if handler is None:
            self._wire.refuse(message, f"the debugger of tileir knows no request '{command}'")
            return
        try:
            answer = handler(asked_in(message), message)
        except RequestMistake as error:
            self._wire.refuse(message, error.message, error.short)
            return
        except ExpressionMistake as error:
            self._wire.refuse(message, error.message)
            return
        except TileIRError as error:
            self._wire.refuse(message, str(error))
            return
        except Exception as error:
            # A mistake of tileir's own: who debugs a kernel is told that it is one, and goes on.
            words = f"{type(error).__name__}: {error}"
            self._wire.refuse(message, f"the debugger of tileir failed at '{command}' (please report it): {words}")
            return
        if isinstance(answer, Deferred):
            return
        self._wire.respond(message, answer.body)
        if answer.then is not None:
            answer.then()


def _of(handler: Handler, state: object) -> Callable[[Asked, Message], Answer | Deferred]:
    return lambda asked, message: handler(state, asked, message)
