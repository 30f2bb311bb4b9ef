"""Disposable virtual machines for AI agents. `Mayfly` is for threads, `AsyncMayfly` for asyncio, with the same methods."""

from mayfly._async.client import AsyncMayfly
from mayfly._async.command import AsyncRunningCommand
from mayfly._async.sandbox import AsyncSandbox
from mayfly._sync.client import Mayfly
from mayfly._sync.command import RunningCommand
from mayfly._sync.sandbox import Sandbox
from mayfly.deadline import deadline
from mayfly.errors import (
    MayflyApiError,
    MayflyApprovalNeededError,
    MayflyConnectionError,
    MayflyDeadlineError,
    MayflyError,
)
from mayfly.values import Output, Ran

__all__ = [
    "AsyncMayfly",
    "AsyncRunningCommand",
    "AsyncSandbox",
    "Mayfly",
    "MayflyApiError",
    "MayflyApprovalNeededError",
    "MayflyConnectionError",
    "MayflyDeadlineError",
    "MayflyError",
    "Output",
    "Ran",
    "RunningCommand",
    "Sandbox",
    "deadline",
]
