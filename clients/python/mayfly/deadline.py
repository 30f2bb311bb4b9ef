"""Deadlines of calls."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from mayfly.errors import MayflyDeadlineError

DEFAULT_SECONDS = 300.0
"""Default deadline, longer than the API holds any answer back."""


class Deadline:
    """Deadline of a call with all its attempts."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ends_at = monotonic() + seconds

    def left(self) -> float:
        """Returns the seconds left. Raises MayflyDeadlineError after the deadline."""
        left = self.ends_at - monotonic()
        if left <= 0:
            raise MayflyDeadlineError(self.seconds)
        return left


_now: ContextVar[Deadline | None] = ContextVar("mayfly_deadline", default=None)


def current(seconds: float) -> Deadline:
    """Returns the deadline of the enclosing block, or a new one of `seconds`."""
    return _now.get() or Deadline(seconds)


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Bounds all calls in its block together. None: no change. A shorter enclosing deadline stays."""
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
    """Sets a new deadline even after the enclosing one has passed, to undo what was started in it."""
    token = _now.set(Deadline(seconds))
    try:
        yield
    finally:
        _now.reset(token)
