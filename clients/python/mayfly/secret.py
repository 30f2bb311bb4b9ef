"""Key hidden from every repr."""

import re

_SENDABLE = re.compile(r"[\x21-\x7e]+")


class Key:
    __slots__ = ("_text", "is_sendable")

    def __init__(self, text: str) -> None:
        self._text = text
        self.is_sendable = _SENDABLE.fullmatch(text) is not None

    def header(self) -> str:
        return f"Bearer {self._text}"

    def __repr__(self) -> str:
        return "Key(…)"
