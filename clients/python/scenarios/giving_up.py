"""Aborts of a caller: a task is cancelled; a thread is interrupted."""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable


async def async_given_up(after: float, use: Callable[[], Awaitable[object]]) -> None:
    async def used() -> None:
        await use()

    task = asyncio.create_task(used())
    await asyncio.sleep(after)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled():
        raise AssertionError("it was not cancelled")


def given_up(after: float, use: Callable[[], object]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.main_thread().ident or 0
    timer = threading.Timer(after, lambda: signal.pthread_kill(main, signal.SIGINT))  # interrupts a wait for a socket too
    timer.start()
    try:
        use()
    except KeyboardInterrupt:
        return
    raise AssertionError("it was not interrupted")
