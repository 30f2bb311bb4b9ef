"""Creation and destruction of sandboxes."""

from mayfly import AsyncMayfly, MayflyApiError
from scenarios._async.stage import SOURCE, AsyncStage
from scenarios.checks import raises, same
from scenarios.giving_up import async_given_up
from mayfly.pause import async_pause


async def s1(stage: AsyncStage) -> None:
    async with await stage.mayfly.create(SOURCE, metadata={"of": "scenario"}) as sandbox:
        same((sandbox.record.state, sandbox.record.spec.metadata.to_dict()), ("running", {"of": "scenario"}))


async def s2(stage: AsyncStage) -> None:
    async with await stage.mayfly.create(SOURCE, name="of-scenario-2") as sandbox:
        same((await stage.mayfly.sandbox("of-scenario-2")).id, sandbox.id)


async def s3(stage: AsyncStage) -> None:
    before = await stage.living()
    stage.network(match="^POST /v1/sandboxes$", does="lose", times=2)
    async with await stage.mayfly.create(SOURCE) as sandbox:
        creates = [one for one in stage.seen()["seen"] if one["line"] == "POST /v1/sandboxes"]
        same((len(creates), len({one["key"] for one in creates})), (3, 1))
        same([one for one in await stage.living() if one not in before], [sandbox.id])


async def s4(stage: AsyncStage) -> None:
    key = f"scenario-4-{type(stage).__name__}"
    async with await stage.mayfly.create(SOURCE, idempotency_key=key) as first:
        same((await stage.mayfly.create(SOURCE, idempotency_key=key)).id, first.id)


async def s5(stage: AsyncStage) -> None:
    async with await stage.mayfly.create(SOURCE) as sandbox:
        pass
    record = (await sandbox.refresh()).to_dict()
    same((record["state"], all(one["absent"] for one in record["proof"]["observations"])), ("destroyed", True))


async def s6(stage: AsyncStage) -> None:
    sandbox = await stage.mayfly.create(SOURCE)
    with raises(LookupError):
        async with sandbox:
            raise LookupError("of the block")
    same((await sandbox.refresh()).state, "destroyed")


async def s7(stage: AsyncStage) -> None:
    with raises(LookupError) as caught:
        async with await stage.mayfly.create(SOURCE):
            stage.network(match="^DELETE", does="garble", times=1)
            raise LookupError("of the block")
    same("of_tomorrow" in "".join(getattr(caught.error, "__notes__", [])), True)


async def s8(stage: AsyncStage) -> None:
    before = await stage.living()
    stage.network(match="^POST /v1/sandboxes$", does="stall", times=1)
    await async_given_up(0.3, lambda: stage.mayfly.create(SOURCE))
    await async_given_up(0.15, lambda: stage.mayfly.create(SOURCE, metadata={"late": "yes"}))
    for _ in range(100):
        if await stage.living() == before:
            return
        await async_pause(0.1)
    same(await stage.living(), before)


async def s9(stage: AsyncStage) -> None:
    made = await stage.mayfly.create(SOURCE)

    async def use() -> None:
        async with made as sandbox:
            await sandbox.run("sleep 60")

    await async_given_up(0.3, use)
    same((await made.refresh()).state, "destroyed")


async def s10(stage: AsyncStage) -> None:
    with raises(MayflyApiError, code="source_not_found", status=404, retryable=False):
        await stage.mayfly.create("no-such")


async def s11(stage: AsyncStage) -> None:
    with raises(MayflyApiError, code="invalid_request") as caught:
        await stage.mayfly.create(SOURCE, cpus=1000)
    same(getattr(caught.error, "problem")["errors"][0]["field"], "cpus")


async def s12(stage: AsyncStage) -> None:
    async with AsyncMayfly(stage.url, "mfk_nobody") as nobody:
        with raises(MayflyApiError, code="unauthenticated", status=401):
            await nobody.sandbox("sbx-0000000000000000")


async def s13(stage: AsyncStage) -> None:
    async with await stage.mayfly.create(SOURCE) as first:
        async with await stage.mayfly.create(SOURCE) as second:
            ids = [record.id async for record in stage.mayfly.sandboxes(page_size=1)]
            same((ids[:2], len(ids)), ([second.id, first.id], len(set(ids))))


async def s14(stage: AsyncStage) -> None:
    async with await stage.mayfly.create(SOURCE, ttl_seconds=600) as sandbox:
        before = sandbox.record.expires_at
        gained = ((await sandbox.extend(ttl_seconds=3000)).expires_at - before).total_seconds()
        same(2000 < gained < 3000, True)
