"""Client of the real API through a network with injected faults, and a shared sandbox."""

import json
import urllib.request
from typing import Any

from mayfly import AsyncMayfly, AsyncSandbox

SOURCE = "golden-debian12"


class AsyncStage:
    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key = key
        self.mayfly = AsyncMayfly(url, key)
        self._shared: AsyncSandbox | None = None

    async def shared(self) -> AsyncSandbox:
        if self._shared is None:
            self._shared = await self.mayfly.create(SOURCE)
        return self._shared

    def network(self, **fault: Any) -> None:
        body = json.dumps(fault).encode() if fault else b""
        request = urllib.request.Request(f"{self.url}/_network", data=body, method="PUT")
        urllib.request.urlopen(request, timeout=10).read()

    def seen(self) -> Any:
        return json.load(urllib.request.urlopen(f"{self.url}/_network", timeout=10))

    async def living(self) -> list[str]:
        return [record.id async for record in self.mayfly.sandboxes(alive=True)]

    async def end(self) -> None:
        self.network()
        for sandbox_id in await self.living():
            await (await self.mayfly.sandbox(sandbox_id)).destroy()
        await self.mayfly.aclose()
