"""Errors of the client and the API."""

import json
from typing import Any


class MayflyError(Exception):
    """Base class of all errors of this package."""


class MayflyApiError(MayflyError):
    """Refusal or failure that the API reported. `problem` is the whole answer."""

    def __init__(self, status: int, problem: dict[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.problem = problem
        self.code = str(problem.get("code", "unknown"))
        self.retryable = problem.get("retryable") is True or (status in (429, 502, 503, 504) and "code" not in problem)
        self.retry_after = retry_after
        self.remedy: str | None = problem.get("remedy")
        self.request_id: str | None = problem.get("requestId")
        title, detail = problem.get("title", f"HTTP {status}"), problem.get("detail")
        super().__init__(f"{title}: {detail}" if detail else f"{title} ({self.code})")


class MayflyConnectionError(MayflyError):
    """Failed connection: nothing listens there, or the connection broke."""


class MayflyDeadlineError(MayflyError):
    """Deadline of a call, with all its attempts, exceeded. The request may still take effect."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"no answer within {seconds:g} s")


class MayflyApprovalNeededError(MayflyError):
    """Request that awaits an approval; nothing was started. The same request with `idempotency_key` continues it."""

    def __init__(self, approval: dict[str, Any], idempotency_key: str | None) -> None:
        self.approval = approval
        self.approval_id = str(approval.get("id"))
        self.idempotency_key = idempotency_key
        rules = ", ".join(str(rule) for rule in approval.get("rules", []))
        super().__init__(f"{self.approval_id} waits for approval by {approval.get('role')}, for: {rules}")


def api_error(status: int, body: bytes, retry_after: str | None) -> MayflyApiError:
    """Returns the error of an answer. Without problem+json, a proxy sent it."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    seconds = float(retry_after) if retry_after is not None and retry_after.isdecimal() else None
    return MayflyApiError(status, problem if isinstance(problem, dict) else {}, seconds)
