"""Parser of server-sent events."""

from collections.abc import AsyncGenerator, Generator, Iterator
from dataclasses import dataclass

MAX_EVENT = 1_048_576


@dataclass(frozen=True)
class Event:
    id: str
    name: str
    data: str


AsyncEvents = AsyncGenerator[Event, None]
Events = Generator[Event, None, None]


class EventParser:
    """Parses a stream; a last event without its blank line is dropped, as the standard requires."""

    def __init__(self, last_id: str) -> None:
        self._buffer = b""
        self._id = last_id
        self._name = ""
        self._data: list[str] = []
        self.retry: float | None = None

    def push(self, chunk: bytes) -> Iterator[Event]:
        self._buffer += chunk
        if len(self._buffer) > MAX_EVENT:
            raise ValueError("the server sent an event of more than 1 MiB")
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            event = self._line(line.removesuffix(b"\r").decode("utf-8", "replace"))
            if event is not None:
                yield event

    def _line(self, line: str) -> Event | None:
        if line == "":
            event = Event(self._id, self._name or "message", "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id":
            self._id = value
        elif name == "retry" and value.isdecimal():
            self.retry = int(value) / 1000
        return None
