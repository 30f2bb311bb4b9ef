"""Files and snapshots."""

from collections.abc import AsyncIterator

from mayfly import MayflyApiError, MayflyConnectionError
from scenarios._async.stage import SOURCE, AsyncStage
from scenarios.checks import raises, same

PIECE = 65_536


async def pieces(count: int, fails_after: int = 1000) -> AsyncIterator[bytes]:
    for n in range(count):
        if n == fails_after:
            raise OSError("the disk is broken")
        yield bytes([n]) * PIECE


async def s33(stage: AsyncStage) -> None:
    sandbox = await stage.shared()
    written = await sandbox.write_file("/tmp/bytes", bytes(range(256)), mode="0600")
    same((await sandbox.read_file("/tmp/bytes"), written.mode), (bytes(range(256)), "0600"))


async def s34(stage: AsyncStage) -> None:
    sandbox = await stage.shared()
    await sandbox.write_file("/tmp/range", "0123456789")
    same(await sandbox.read_file("/tmp/range", first=3, last=5), b"345")


async def s35(stage: AsyncStage) -> None:
    sandbox = await stage.shared()
    entry = await sandbox.write_file("/tmp/stream", pieces(64))
    same((entry.size, len(await sandbox.read_file("/tmp/stream"))), (64 * PIECE, 64 * PIECE))


async def s36(stage: AsyncStage) -> None:
    sandbox = await stage.shared()
    await sandbox.write_file("/tmp/kept", "as it was")
    stage.network()
    with raises(OSError):
        await sandbox.write_file("/tmp/kept", pieces(64, 3))
    stage.network(match="^PUT", does="lose", times=1)
    with raises(MayflyConnectionError):
        await sandbox.write_file("/tmp/other", pieces(2))
    same(len([one for one in stage.seen()["seen"] if one["line"].startswith("PUT")]), 1)
    same(await sandbox.read_file("/tmp/kept"), b"as it was")


async def s37(stage: AsyncStage) -> None:
    sandbox = await stage.shared()
    for name in "cab":
        await sandbox.write_file(f"/tmp/listed/{name}", name, parents=True)
    same([entry.name async for entry in sandbox.list_files("/tmp/listed", page_size=2)], ["a", "b", "c"])
    await sandbox.remove_file("/tmp/listed", recursive=True)
    with raises(MayflyApiError, code="file_not_found", status=404):
        await sandbox.read_file("/tmp/listed/a")


async def s38(stage: AsyncStage) -> None:
    async with await stage.mayfly.create(SOURCE) as sandbox:
        await sandbox.write_file("/tmp/state", "before")
        saved = await sandbox.snapshot("before")
        await sandbox.write_file("/tmp/state", "after")
        same((await sandbox.restore(saved.id)).state, "running")
        same(await sandbox.read_file("/tmp/state"), b"before")


async def s39(stage: AsyncStage) -> None:
    async with await stage.mayfly.create(SOURCE) as sandbox:
        saved = await sandbox.snapshot()
        forks = (await stage.mayfly.fork(saved.id, 3)).to_dict()["items"]
        ids = {fork["sandbox"]["id"] for fork in forks}
        same(len(ids), 3)
        for sandbox_id in ids:
            await (await stage.mayfly.sandbox(sandbox_id)).destroy()


async def s40(stage: AsyncStage) -> None:
    async with await stage.mayfly.create(SOURCE) as sandbox:
        saved = await sandbox.snapshot()
        await sandbox.write_file("/etc/changed", "new")
        changes = (await stage.mayfly.diff(saved.id, "current")).to_dict()["changes"]
        same("/etc/changed" in [change["path"] for change in changes], True)
