"""Started commands."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import cast

from mayfly._async.connection import AsyncConnection
from mayfly.openapi.api.commands import cancel_command, get_command
from mayfly.openapi.models import Command
from mayfly.values import Output


class AsyncRunningCommand:
    """Started command. It runs on after a reader of its output stops, until it ends or is cancelled."""

    def __init__(self, connection: AsyncConnection, record: Command) -> None:
        self._connection = connection
        self._written = 0
        self.record = record
        """Last received record."""

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def _path(self) -> str:
        return f"/v1/sandboxes/{self.record.sandbox_id}/commands/{self.id}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.record.state}>"

    async def output(self) -> AsyncIterator[Output]:
        """Yields its output from the beginning until it ends, in order, across broken connections."""
        async with aclosing(self._connection.events(f"{self._path}/events")) as events:
            async for event in events:
                if event.name == "output":
                    said = json.loads(event.data)
                    data = said["text"].encode() if "text" in said else base64.b64decode(said.get("base64", ""))
                    yield Output(said["stream"], data, said["offset"])
                elif event.name == "ended":
                    await self.refresh()
                    return

    async def refresh(self) -> Command:
        found = await get_command.asyncio(self.record.sandbox_id, self.id, client=self._connection.api)
        self.record = cast(Command, found)
        return self.record

    async def ended(self) -> Command:
        """Returns when it has ended, however long that takes."""
        if self.record.state != "ended":
            async for _ in self.output():
                pass
        return self.record

    async def cancel(self) -> Command:
        """Ends its whole process tree."""
        found = await cancel_command.asyncio(self.record.sandbox_id, self.id, client=self._connection.api)
        self.record = cast(Command, found)
        return self.record

    async def write(self, content: str | bytes, *, close: bool = False) -> None:
        """Writes to standard input, which is open only where the command was started with `stdin_open`. Never retried."""
        data = content.encode() if isinstance(content, str) else content
        params = {"offset": str(self._written), **({"close": "true"} if close else {})}
        headers = {"Content-Type": "application/octet-stream"}
        http = self._connection.api.get_async_httpx_client()
        answer = await http.post(f"{self._path}/stdin", params=params, content=data, headers=headers)
        self._written = answer.json()["offset"]

    async def close_stdin(self) -> None:
        await self.write(b"", close=True)
