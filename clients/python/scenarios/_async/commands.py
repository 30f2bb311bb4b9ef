"""Commands, and calls over a faulty network."""

import logging
import traceback
from io import StringIO

from mayfly import AsyncMayfly, MayflyApiError, MayflyConnectionError, MayflyDeadlineError, deadline
from mayfly.pause import async_pause
from scenarios._async.stage import AsyncStage
from scenarios.checks import raises, same


async def s15(stage: AsyncStage) -> None:
    ran = await (await stage.shared()).run("echo out; echo err >&2")
    same((ran.exit_code, ran.stdout, ran.stderr), (0, "out\n", "err\n"))


async def s16(stage: AsyncStage) -> None:
    ran = await (await stage.shared()).run("exit 3")
    same((ran.exit_code, ran.command.outcome), (3, "exited"))


async def s17(stage: AsyncStage) -> None:
    same((await (await stage.shared()).run(["echo", "$HOME;", "*"])).stdout, "$HOME; *\n")


async def s18(stage: AsyncStage) -> None:
    ran = await (await stage.shared()).run('echo "$GREETING"; pwd', env={"GREETING": "hé llo"}, cwd="/tmp")
    same(ran.stdout, "hé llo\n/tmp\n")


async def s19(stage: AsyncStage) -> None:
    same((await (await stage.shared()).run(["cat"], stdin=b"given\xff")).stdout_bytes, b"given\xff")


async def s20(stage: AsyncStage) -> None:
    command = await (await stage.shared()).start(["cat"], stdin_open=True)
    await command.write("one ")
    await command.write(b"two")
    await command.close_stdin()
    pieces = [piece.data async for piece in command.output()]
    same((b"".join(pieces), command.record.exit_code), (b"one two", 0))


async def s21(stage: AsyncStage) -> None:
    command = await (await stage.shared()).start("echo first; cat; echo last", stdin_open=True)
    seen = b""
    async for piece in command.output():
        if seen == b"":
            await command.close_stdin()  # it cannot have ended before this
        seen += piece.data
    same(seen, b"first\nlast\n")


async def s22(stage: AsyncStage) -> None:
    stage.network()
    command = await (await stage.shared()).start("echo first; sleep 1; echo lived > /tmp/lived")
    async for piece in command.output():
        same(piece.data, b"first\n")
        break
    for _ in range(50):
        if stage.seen()["open"] == 0:
            break
        await async_pause(0.1)
    same(stage.seen()["open"], 0)
    same((await command.ended()).outcome, "exited")
    same((await (await stage.shared()).run("cat /tmp/lived")).stdout, "lived\n")


async def s23(stage: AsyncStage) -> None:
    command = await (await stage.shared()).start("for n in 1 2 3; do echo line $n; done")
    await command.ended()
    for after in (0, 1, 60, 130, 200, 280, 350, 430):
        stage.network(match="/events$", does="cut", times=2, after=after)
        pieces = [piece.data async for piece in command.output()]
        same((after, b"".join(pieces)), (after, b"line 1\nline 2\nline 3\n"))


async def s24(stage: AsyncStage) -> None:
    command = await (await stage.shared()).start("sleep 60")
    await command.cancel()
    same((await command.ended()).outcome, "cancelled")


async def s25(stage: AsyncStage) -> None:
    ran = await (await stage.shared()).run("sleep 60", timeout_seconds=1)
    same((ran.exit_code, ran.command.outcome), (None, "timed-out"))


async def s26(stage: AsyncStage) -> None:
    ran = await (await stage.shared()).run("printf 'a\\377b'")
    same((ran.stdout, ran.stdout_bytes), ("a\ufffdb", b"a\xffb"))


async def s27(stage: AsyncStage) -> None:
    same((await (await stage.shared()).run("sleep 6; echo slept")).stdout, "slept\n")


async def s28(stage: AsyncStage) -> None:
    sandbox = await stage.shared()
    stage.network(match="^GET", does="stall", times=9)
    with raises(MayflyDeadlineError, seconds=0.5), deadline(0.5):
        await sandbox.refresh()


async def s29(stage: AsyncStage) -> None:
    sandbox = await stage.shared()
    stage.network(match="^POST", does="refuse", times=2)
    same((await sandbox.run("echo once")).stdout, "once\n")
    posts = [one for one in stage.seen()["seen"] if one["line"].startswith("POST")]
    same((len(posts), len({one["key"] for one in posts})), (3, 1))


async def s30(stage: AsyncStage) -> None:
    sandbox = await stage.shared()
    stage.network(match="^GET", does="refuse", times=9)
    with raises(MayflyApiError, code="store_unavailable", status=503):
        await sandbox.refresh()
    same(len(stage.seen()["seen"]), 4)


async def s31(stage: AsyncStage) -> None:
    sandbox = await stage.shared()
    stage.network(match="^GET", does="alter", times=1)
    same((await sandbox.refresh()).state, "of-tomorrow")
    stage.network(match="^GET", does="garble", times=1)
    with raises(MayflyApiError, code="of_tomorrow", status=409):
        await sandbox.refresh()


async def s32(stage: AsyncStage) -> None:
    secret, told = stage.key[-20:], StringIO()
    handler = logging.StreamHandler(told)
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.DEBUG)
    nowhere = AsyncMayfly("http://127.0.0.1:1", stage.key)
    shown = [repr(stage.mayfly), repr(stage.mayfly.api), repr(await stage.shared())]
    for client, sandbox in ((nowhere, "x"), (stage.mayfly, "sbx-0000000000000000")):
        try:
            with deadline(1):
                await client.sandbox(sandbox)
        except (MayflyApiError, MayflyConnectionError, MayflyDeadlineError) as error:
            frames = traceback.TracebackException.from_exception(error, capture_locals=True)
            shown += [repr(error), "".join(line for line in frames.format() if "stage" not in line)]
    await nowhere.aclose()
    logging.getLogger().removeHandler(handler)
    logging.getLogger().setLevel(logging.WARNING)
    same((len(told.getvalue()) > 100, secret in told.getvalue(), secret in "".join(shown)), (True, False, False))
