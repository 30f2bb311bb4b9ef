"""Runs all scenarios in the order of the list; each prints a line of JSON with its result."""

import json
import os
import traceback

from scenarios._async import commands, files, sandboxes
from scenarios._async.stage import AsyncStage


async def run_all(numbers: list[int]) -> None:
    stage = AsyncStage(os.environ["URL"], os.environ["KEY"])
    known = {**vars(sandboxes), **vars(commands), **vars(files)}
    for n in numbers:
        failure = None
        try:
            stage.network()
            await known[f"s{n}"](stage)
        except Exception:
            failure = traceback.format_exc()
        print(json.dumps({"n": n, "failure": failure}), flush=True)
    await stage.end()
