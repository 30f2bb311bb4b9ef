"""Times a call of the Python client beside httpx, in turn: a line of JSON for each pair, in milliseconds."""

import json
import os
import sys
import time
from collections.abc import Callable

import httpx
from mayfly import Mayfly

url = os.environ["MAYFLY_URL"]
key = os.environ["MAYFLY_API_KEY"]


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


with Mayfly(url, key) as mayfly, httpx.Client(base_url=url, headers={"authorization": f"Bearer {key}"}) as bare:
    for _ in range(int(sys.argv[1])):
        ours = timed(lambda: list(mayfly.sandboxes()))
        beside = timed(lambda: bare.get("/v1/sandboxes").json())
        print(json.dumps({"ours": ours, "beside": beside}), flush=True)
