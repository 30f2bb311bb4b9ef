"""Retry policy."""

import random
import re

import httpx

from mayfly.errors import MayflyApiError, MayflyConnectionError, MayflyError

MAX_ATTEMPTS = 4
FIRST_DELAY = 0.2
MAX_RETRY_AFTER = 30.0

_ONCE = re.compile(r"/stdin$|^/v1/sandboxes/[^/]+/files/")
_SANDBOX = re.compile(r"^/v1/sandboxes/([^/]+)")
_ID = re.compile(r"sbx-[0-9a-hjkmnp-tv-z]{16}")


def may_repeat(request: httpx.Request) -> bool:
    """Returns False for transfers of content, and for changes by a name, which another sandbox may have by the second attempt."""
    path = request.url.path
    if not isinstance(request.stream, httpx.ByteStream):
        return False
    if request.method not in ("GET", "HEAD") and _ONCE.search(path):
        return False
    if request.method in ("PATCH", "DELETE"):
        sandbox = _SANDBOX.match(path)
        return sandbox is None or _ID.fullmatch(sandbox[1]) is not None
    return True


def delay_after(error: MayflyError, attempt: int) -> float | None:
    """Returns the pause in seconds; None: no retry. A workflow's failure is the recorded answer, so a retry would get it again."""
    if attempt >= MAX_ATTEMPTS:
        return None
    if isinstance(error, MayflyApiError):
        if not error.retryable or "sandboxId" in error.problem or (error.retry_after or 0) > MAX_RETRY_AFTER:
            return None
        if error.retry_after is not None:
            return error.retry_after
    elif not isinstance(error, MayflyConnectionError):
        return None
    full: float = FIRST_DELAY * 2 ** (attempt - 1)
    return full / 2 + random.random() * full / 2
