"""Sends requests with the key, and turns everything but success into an error."""

import json
import uuid
from collections.abc import Mapping

import httpx

from mayfly.deadline import Deadline, current
from mayfly.errors import MayflyApprovalNeededError, MayflyConnectionError, MayflyError, api_error
from mayfly.pause import async_pause
from mayfly.repeating import delay_after, may_repeat
from mayfly.secret import Key

OPEN = "mayfly_open"
"""Extension of a request whose answer is streamed: it has no deadline and is never retried."""
CONNECT_SECONDS = 10.0
SILENT_SECONDS = 300.0


class AsyncRepeating(httpx.AsyncBaseTransport):
    def __init__(self, key: Key, seconds: float) -> None:
        self._key = key
        self._seconds = seconds
        self._inner = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=100, max_keepalive_connections=20))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["Authorization"] = self._key.header()
        if request.method == "POST" and "Idempotency-Key" not in request.headers:
            request.headers["Idempotency-Key"] = str(uuid.uuid4())
        if request.extensions.get(OPEN):
            limits = {"connect": CONNECT_SECONDS, "read": SILENT_SECONDS, "write": None, "pool": SILENT_SECONDS}
            return await self._once(request, limits, None)
        deadline = current(self._seconds)
        attempt = 1
        while True:
            left = deadline.left()
            limits = {"connect": min(CONNECT_SECONDS, left), "read": left, "write": left, "pool": left}
            try:
                return await self._once(request, limits, deadline)
            except MayflyError as error:
                delay = delay_after(error, attempt) if may_repeat(request) else None
                if delay is None or delay >= deadline.left():
                    raise
            attempt += 1
            await async_pause(delay)

    async def _once(
        self, request: httpx.Request, limits: Mapping[str, float | None], deadline: Deadline | None
    ) -> httpx.Response:
        request.extensions = {**request.extensions, "timeout": limits}
        try:
            response = await self._inner.handle_async_request(request)
            if response.is_success and deadline is None:
                return response
            try:
                await response.aread()
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            if deadline is not None:
                deadline.left()
            raise MayflyConnectionError(f"{request.url.host} does not answer ({type(error).__name__}: {error})") from error
        if not response.is_success:
            raise api_error(response.status_code, response.content, response.headers.get("Retry-After"))
        if response.status_code == 202 and response.headers.get("Location", "").startswith("/v1/approvals/"):
            raise MayflyApprovalNeededError(json.loads(response.content), request.headers.get("Idempotency-Key"))
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()
