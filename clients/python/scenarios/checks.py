"""Assertions of the scenarios."""

from contextlib import contextmanager
from collections.abc import Iterator


def same(seen: object, wished: object) -> None:
    if seen != wished:
        raise AssertionError(f"{seen!r} is not {wished!r}")


class Caught:
    error: BaseException | None = None


@contextmanager
def raises(kind: type[BaseException], **fields: object) -> Iterator[Caught]:
    caught = Caught()
    try:
        yield caught
    except kind as error:
        caught.error = error
        for name, value in fields.items():
            same(getattr(error, name), value)
        return
    raise AssertionError(f"no {kind.__name__} was raised")
