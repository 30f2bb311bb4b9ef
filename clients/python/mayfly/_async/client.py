"""Client of the API, whose sandboxes end with the block that made them."""

import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self, cast

import json

import httpx

from mayfly._async.connection import AsyncConnection
from mayfly._async.sandbox import AsyncSandbox
from mayfly._async.transport import AsyncRepeating
from mayfly.deadline import DEFAULT_SECONDS, deadline, fresh
from mayfly.errors import MayflyApiError, MayflyApprovalNeededError, MayflyError
from mayfly.openapi.api.sandboxes import create_sandbox, delete_sandbox, get_sandbox, list_sandboxes
from mayfly.openapi.api.snapshots import diff_snapshots, list_snapshots
from mayfly.openapi.client import AuthenticatedClient
from mayfly.openapi.models import Diff, Forks, ListSandboxesAlive, ListSandboxesResponse200, ListSnapshotsResponse200
from mayfly.openapi.models import Sandbox as SandboxRecord
from mayfly.openapi.models import Snapshot as SnapshotRecord
from mayfly.openapi.types import UNSET
from mayfly.secret import Key
from mayfly.values import prefer, without_none

TAKE_BACK_SECONDS = 10.0
NOT_SETTLED = ("requested", "creating", "destroying")
FINAL = ("destroyed", "failed")


class AsyncMayfly:
    """Client of the API. `api` covers operations without a method here: `await list_pools.asyncio(client=mayfly.api)`."""

    def __init__(self, base_url: str, api_key: str, *, deadline_seconds: float = DEFAULT_SECONDS) -> None:
        key = Key(api_key)
        del api_key  # keeps it out of tracebacks
        if not key.is_sendable:
            raise ValueError("the API key has characters that no key has")
        if not base_url.startswith(("http://", "https://")):
            raise ValueError("the base URL must begin with http:// or https://")
        transport = AsyncRepeating(key, deadline_seconds)
        self.api = AuthenticatedClient(
            base_url=base_url.rstrip("/"),
            token="of-the-transport",
            timeout=httpx.Timeout(None),
            httpx_args={"transport": transport, "trust_env": False},
        )
        self._base_url = base_url
        self._connection = AsyncConnection(self.api)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._base_url}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self.api.get_async_httpx_client().aclose()

    async def create(
        self,
        source: str | None = None,
        *,
        snapshot_id: str | None = None,
        name: str | None = None,
        cpus: int | None = None,
        memory_mib: int | None = None,
        ttl_seconds: int | None = None,
        idle_seconds: int | None = None,
        on_idle: str | None = None,
        metadata: dict[str, str] | None = None,
        egress: str | None = None,
        deadline_seconds: float = DEFAULT_SECONDS,
        idempotency_key: str | None = None,
    ) -> AsyncSandbox:
        """Creates a sandbox and waits until it runs, for `deadline_seconds`. It lives for `ttl_seconds`.

        After an abort (cancelled, its deadline, an API that does not answer), it is destroyed before this raises; if that
        fails too, it ends by its TTL.
        """
        machine = {"cpus": cpus, "memoryMib": memory_mib}
        end = {"ttlSeconds": ttl_seconds, "idleSeconds": idle_seconds, "onIdle": on_idle}
        named = {"source": source, "snapshotId": snapshot_id, "name": name, "metadata": metadata}
        network = None if egress is None else {"egress": egress}
        request = without_none({**named, **machine, **end, "network": network})
        key = idempotency_key or str(uuid.uuid4())
        try:
            with deadline(deadline_seconds):
                record = await self._running(cast(SandboxRecord, await self._begun(request, key, 60)))
        except (MayflyApiError, MayflyApprovalNeededError):
            raise  # refused or awaiting approval: nothing was started; a failed create left nothing
        except BaseException:
            await self._take_back(request, key)
            raise
        return AsyncSandbox(self._connection, record)

    async def sandbox(self, id_or_name: str) -> AsyncSandbox:
        """Returns an existing sandbox."""
        found = await get_sandbox.asyncio(id_or_name, client=self.api)
        return AsyncSandbox(self._connection, cast(SandboxRecord, found))

    async def sandboxes(self, *, alive: bool = False, page_size: int = 100) -> AsyncIterator[SandboxRecord]:
        """Yields all sandboxes, newest first, in pages that are fetched while reading."""
        cursor: str | None = None
        while True:
            found = await list_sandboxes.asyncio(
                client=self.api,
                limit=page_size,
                cursor=cursor or UNSET,
                alive=ListSandboxesAlive.TRUE if alive else UNSET,
            )
            page = cast(ListSandboxesResponse200, found)
            for record in page.items:
                yield record
            cursor = page.next_cursor
            if cursor is None:
                return

    async def snapshots(self, *, page_size: int = 100) -> AsyncIterator[SnapshotRecord]:
        """Yields the snapshots of all sandboxes, newest first, in pages that are fetched while reading."""
        cursor: str | None = None
        while True:
            found = await list_snapshots.asyncio(client=self.api, limit=page_size, cursor=cursor or UNSET)
            page = cast(ListSnapshotsResponse200, found)
            for record in page.items:
                yield record
            cursor = page.next_cursor
            if cursor is None:
                return

    async def fork(self, snapshot_id: str, count: int, *, wait_seconds: float = 60) -> Forks:
        """Creates `count` sandboxes from a snapshot; each item is the outcome of one of them."""
        request = {"snapshotId": snapshot_id, "count": count}
        return cast(Forks, await self._begun(request, str(uuid.uuid4()), wait_seconds))

    async def diff(self, a: str, b: str) -> Diff:
        """Returns the changes between two snapshots; `b` may be `current`."""
        return cast(Diff, await diff_snapshots.asyncio(a, b, client=self.api))

    async def _begun(self, request: dict[str, Any], key: str, wait_seconds: float) -> object:
        return await create_sandbox.asyncio(
            client=self.api, body=request, prefer=prefer(wait_seconds), idempotency_key=key
        )

    async def _running(self, record: SandboxRecord) -> SandboxRecord:
        if record.state in NOT_SETTLED:
            async with aclosing(self._connection.events(f"/v1/sandboxes/{record.id}/events")) as events:
                async for event in events:
                    if event.name == "sandbox":
                        record = SandboxRecord.from_dict(json.loads(event.data))
                        if record.state not in NOT_SETTLED:
                            break
        if record.state in FINAL:
            failure = record.to_dict().get("failure") or {"code": "sandbox_ended"}
            title = f"The sandbox is {record.state}"
            detail = {"code": failure["code"], "detail": failure.get("message"), "sandboxId": record.id}
            raise MayflyApiError(502, {"title": title, **detail})
        return record

    async def _take_back(self, request: dict[str, Any], key: str) -> None:
        """Destroys the sandbox of an aborted create. The same request again returns its id."""
        try:
            with fresh(TAKE_BACK_SECONDS):
                begun = cast(SandboxRecord, await self._begun(request, key, 0))
                await delete_sandbox.asyncio(begun.id, client=self.api, prefer=prefer(0))
        except MayflyError:
            pass  # the caller gets the reason of the abort
