"""How long calls may take."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from mayfly.errors import MayflyDeadlineError

DEFAULT_SECONDS = 300.0
"""Longer than the API holds any answer back."""


class Deadline:
    """One for a call with all its attempts."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ends_at = monotonic() + seconds

    def left(self) -> float:
        """Seconds. Raises MayflyDeadlineError when there are none."""
        left = self.ends_at - monotonic()
        if left <= 0:
            raise MayflyDeadlineError(self.seconds)
        return left


_now: ContextVar[Deadline | None] = ContextVar("mayfly_deadline", default=None)


def current(seconds: float) -> Deadline:
    """That of the block around; outside of any: one of so many seconds."""
    return _now.get() or Deadline(seconds)


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Bounds all calls in its block together. None: as before. A shorter one around it stays."""
    around = _now.get()
    inner = around if seconds is None else Deadline(seconds)
    if inner is not None and around is not None and around.ends_at < inner.ends_at:
        inner = around
    token = _now.set(inner)
    try:
        yield
    finally:
        _now.reset(token)


@contextmanager
def fresh(seconds: float) -> Iterator[None]:
    """Also where the one around is over: to take back what was begun in it."""
    token = _now.set(Deadline(seconds))
    try:
        yield
    finally:
        _now.reset(token)
