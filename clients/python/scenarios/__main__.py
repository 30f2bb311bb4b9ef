"""`python -m scenarios async|sync 1,2,3`, with URL and KEY."""

import asyncio
import sys

from scenarios._async.run import run_all as run_all_async
from scenarios._sync.run import run_all

numbers = [int(n) for n in sys.argv[2].split(",")]
if sys.argv[1] == "async":
    asyncio.run(run_all_async(numbers))
else:
    run_all(numbers)
