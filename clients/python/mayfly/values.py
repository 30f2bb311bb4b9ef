"""Values of requests and answers."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mayfly.openapi.models import Command

GuestPath = str | bytes


@dataclass(frozen=True)
class Output:
    """Piece of output, in the order in which the command wrote it."""

    stream: str
    data: bytes = field(repr=False)
    offset: int


@dataclass(frozen=True)
class Ran:
    """Ended command, with the retained part of its output."""

    exit_code: int | None
    """None when it did not exit on its own; `command.outcome` has the reason."""
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
