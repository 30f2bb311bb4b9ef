"""Streamed answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

import httpx

from mayfly._async.transport import OPEN
from mayfly.deadline import DEFAULT_SECONDS
from mayfly.errors import MayflyApiError, MayflyConnectionError
from mayfly.events import AsyncEvents, EventParser
from mayfly.openapi.client import AuthenticatedClient
from mayfly.pause import async_pause

RECONNECT_SECONDS = 0.5


class AsyncConnection:
    def __init__(self, api: AuthenticatedClient) -> None:
        self.api = api

    @asynccontextmanager
    async def open(self, method: str, path: str, **asked: Any) -> AsyncIterator[httpx.Response]:
        http = self.api.get_async_httpx_client()
        request = http.build_request(method, path, extensions={OPEN: True}, **asked)
        response = await http.send(request, stream=True)
        try:
            yield response
        except httpx.TransportError as error:
            raise MayflyConnectionError(f"the connection broke ({type(error).__name__}: {error})") from error
        finally:
            await response.aclose()

    async def events(self, path: str) -> AsyncEvents:
        """Yields events across broken connections, until the reader stops."""
        last_id, reconnect, heard_at = "", RECONNECT_SECONDS, monotonic()
        while True:
            parser = EventParser(last_id)
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
            try:
                async with self.open("GET", path, headers=headers) as response:
                    async for chunk in response.aiter_bytes():
                        for event in parser.push(chunk):
                            last_id = event.id
                            yield event
                            heard_at = monotonic()
            except MayflyConnectionError:
                pass
            except MayflyApiError as error:
                if not error.retryable:
                    raise
            if monotonic() - heard_at >= DEFAULT_SECONDS:
                raise MayflyConnectionError("the event stream keeps breaking")
            reconnect = parser.retry if parser.retry is not None else reconnect
            await async_pause(reconnect)
