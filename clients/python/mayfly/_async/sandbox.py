"""Sandbox, destroyed at the end of its `with` block."""

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import quote

from mayfly._async.command import AsyncRunningCommand
from mayfly._async.connection import AsyncConnection
from mayfly.openapi.api.commands import create_command
from mayfly.openapi.api.sandboxes import delete_sandbox, get_sandbox, update_sandbox
from mayfly.openapi.api.snapshots import create_snapshot, restore_sandbox
from mayfly.openapi.models import Command, FileEntry, PatchSandbox, Restored, RestoreSandbox, Snapshot, TakeSnapshot
from mayfly.openapi.models import Sandbox as SandboxRecord
from mayfly.values import GuestPath, Ran, command_request, prefer, without_none


class AsyncSandbox:
    def __init__(self, connection: AsyncConnection, record: SandboxRecord) -> None:
        self._connection = connection
        self._api = connection.api
        self.id = record.id
        self.record = record
        """Last received record; `refresh` reads it again."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.record.state}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.destroy()
        except Exception as failed:
            if error is None:
                raise
            # Keeps the block's error, for `except` and for cancellation.
            error.add_note(f"and {self.id} was not destroyed: {type(failed).__name__}: {failed}")

    async def refresh(self) -> SandboxRecord:
        self.record = cast(SandboxRecord, await get_sandbox.asyncio(self.id, client=self._api))
        return self.record

    async def run(
        self,
        what: str | Sequence[str],
        *,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        stdin: str | bytes | None = None,
        timeout_seconds: int | None = None,
    ) -> Ran:
        """Runs a command, and returns when it has ended. A string is a shell command line, a list a program with arguments."""
        request = command_request(what, env, cwd, user, stdin, False, timeout_seconds)
        command = AsyncRunningCommand(self._connection, await self._begun(request, 60))
        record = await command.ended()
        kept = {"stdout": record.stdout.kept, "stderr": record.stderr.kept}
        found = {name: await self._kept(record, name) if size else b"" for name, size in kept.items()}
        return Ran(record.exit_code, found["stdout"], found["stderr"], record)

    async def start(
        self,
        what: str | Sequence[str],
        *,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        stdin: str | bytes | None = None,
        stdin_open: bool = False,
        timeout_seconds: int | None = None,
    ) -> AsyncRunningCommand:
        """Starts a command, and returns when that is recorded: to read its output live, or to write to it."""
        request = command_request(what, env, cwd, user, stdin, stdin_open, timeout_seconds)
        return AsyncRunningCommand(self._connection, await self._begun(request, 0))

    async def read_file(self, path: GuestPath, *, first: int | None = None, last: int | None = None) -> bytes:
        asked = first is not None or last is not None
        limits = {"Range": f"bytes={first or 0}-{'' if last is None else last}"} if asked else {}
        headers = {"Accept": "application/octet-stream", **limits}
        async with self._connection.open("GET", self._file(path), headers=headers) as response:
            return await response.aread()

    async def write_file(
        self,
        path: GuestPath,
        content: str | bytes | AsyncIterable[bytes],
        *,
        mode: str | None = None,
        parents: bool = False,
    ) -> FileEntry:
        """Replaces or creates a file. Not retried: if it fails half-way, the file stays as it was."""
        params = without_none({"mode": mode, "parents": "true" if parents else None})
        data = content.encode() if isinstance(content, str) else content
        headers = {"Content-Type": "application/octet-stream"}
        asked: dict[str, Any] = {"params": params, "content": data, "headers": headers}
        async with self._connection.open("PUT", self._file(path), **asked) as response:
            await response.aread()
            return FileEntry.from_dict(response.json())

    async def list_files(self, path: GuestPath, *, page_size: int = 1000) -> AsyncIterator[FileEntry]:
        """Yields all entries of a directory by name, in pages that are fetched while reading."""
        http, cursor = self._api.get_async_httpx_client(), None
        while True:
            params = without_none({"limit": page_size, "cursor": cursor})
            page = (await http.get(self._file(path), params=params)).json()
            for entry in page["items"]:
                yield FileEntry.from_dict(entry)
            cursor = page["nextCursor"]
            if cursor is None:
                return

    async def remove_file(self, path: GuestPath, *, recursive: bool = False) -> None:
        params = {"recursive": "true"} if recursive else {}
        await self._api.get_async_httpx_client().delete(self._file(path), params=params)

    async def snapshot(self, name: str | None = None, *, wait_seconds: float = 60) -> Snapshot:
        body = TakeSnapshot.from_dict(without_none({"name": name}))
        taken = await create_snapshot.asyncio(self.id, client=self._api, body=body, prefer=prefer(wait_seconds))
        return cast(Snapshot, taken)

    async def restore(self, snapshot_id: str, *, wait_seconds: float = 60) -> SandboxRecord:
        """Restores one of its own snapshots."""
        body = RestoreSandbox(snapshot_id)
        done = await restore_sandbox.asyncio(self.id, client=self._api, body=body, prefer=prefer(wait_seconds))
        self.record = cast(Restored, done).sandbox
        return self.record

    async def extend(self, *, ttl_seconds: int) -> SandboxRecord:
        """Sets its end to `ttl_seconds` from now."""
        body = PatchSandbox.from_dict({"ttlSeconds": ttl_seconds})
        self.record = cast(SandboxRecord, await update_sandbox.asyncio(self.id, client=self._api, body=body))
        return self.record

    async def destroy(self, *, wait_seconds: float = 60) -> SandboxRecord:
        """Returns the record: `destroyed` with its proof, or `destroying` when the wait ended first, which then continues."""
        ended = await delete_sandbox.asyncio(self.id, client=self._api, prefer=prefer(wait_seconds))
        self.record = cast(SandboxRecord, ended)
        return self.record

    async def _begun(self, request: dict[str, Any], wait_seconds: float) -> Command:
        begun = await create_command.asyncio(self.id, client=self._api, body=request, prefer=prefer(wait_seconds))
        return cast(Command, begun)

    async def _kept(self, command: Command, stream: str) -> bytes:
        path = f"/v1/sandboxes/{self.id}/commands/{command.id}/output"
        async with self._connection.open("GET", path, params={"stream": stream}) as response:
            return await response.aread()

    def _file(self, path: GuestPath) -> str:
        raw = path.encode() if isinstance(path, str) else path
        if not raw.startswith(b"/"):
            raise ValueError("a path in a guest must be absolute")
        parts = [quote(part, safe="") for part in raw[1:].split(b"/")]
        return f"/v1/sandboxes/{self.id}/files/{'/'.join(parts)}"
