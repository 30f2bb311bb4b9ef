"""What is asked for, and what comes back."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mayfly.openapi.models import Command

GuestPath = str | bytes


@dataclass(frozen=True)
class Output:
    """A piece of output, in the order in which the command wrote it."""

    stream: str
    data: bytes = field(repr=False)
    offset: int


@dataclass(frozen=True)
class Ran:
    """A command that has ended, with what is kept of its output."""

    exit_code: int | None
    """None: it did not exit by itself; `command.outcome` says how it ended."""
    stdout_bytes: bytes = field(repr=False)
    stderr_bytes: bytes = field(repr=False)
    command: Command = field(repr=False)

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode("utf-8", "replace")


def command_request(
    what: str | Sequence[str],
    env: dict[str, str] | None,
    cwd: str | None,
    user: str | None,
    stdin: str | bytes | None,
    stdin_open: bool,
    timeout_seconds: int | None,
) -> dict[str, Any]:
    given = {"base64": base64.b64encode(stdin).decode()} if isinstance(stdin, bytes) else stdin
    asked: dict[str, Any] = {
        "command" if isinstance(what, str) else "argv": what if isinstance(what, str) else list(what),
        "env": env,
        "cwd": cwd,
        "user": user,
        "stdin": given,
        "stdinOpen": stdin_open or None,
        "timeoutSeconds": timeout_seconds,
    }
    return without_none(asked)


def without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def prefer(wait_seconds: float) -> str:
    return f"wait={max(0, min(240, int(wait_seconds)))}"
