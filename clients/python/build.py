"""Writes the generated code: `python build.py <openapi.json> <folder>`. scripts/python-client.mjs calls it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import unasync

HERE = Path(__file__).parent
NAMES = {
    "AsyncMayfly": "Mayfly",
    "AsyncSandbox": "Sandbox",
    "AsyncRunningCommand": "RunningCommand",
    "AsyncConnection": "Connection",
    "AsyncEvents": "Events",
    "AsyncStage": "Stage",
    "AsyncRepeating": "Repeating",
    "AsyncBaseTransport": "BaseTransport",
    "AsyncHTTPTransport": "HTTPTransport",
    "handle_async_request": "handle_request",
    "get_async_httpx_client": "get_httpx_client",
    "asynccontextmanager": "contextmanager",
    "aclosing": "closing",
    "aclose": "close",
    "aread": "read",
    "aiter_bytes": "iter_bytes",
    "async_pause": "pause",
    "async_given_up": "given_up",
    "asyncio": "sync",
    "_async": "_sync",
}


def readable(document: dict) -> dict:
    """Removes content that the generator does not support and skips with a warning: archives, diffs as lines (of a run: bytes instead), some events."""
    write = document["paths"]["/v1/sandboxes/{id}/files/{path}"]["put"]["requestBody"]["content"]
    del write["application/x-tar"]
    diff = document["paths"]["/v1/snapshots/{a}/diff/{b}"]["get"]["responses"]["200"]["content"]
    del diff["application/x-ndjson"]
    lines = document["paths"]["/v1/runs/{id}/diff"]["get"]["responses"]["200"]
    lines["content"] = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    del document["components"]["schemas"]["DiffLine"]
    for door in ("runs", "invoke"):  # the generator cannot distinguish two bodies, one of which is any JSON
        del document["paths"][f"/v1/functions/{{name}}/{door}"]["post"]["requestBody"]["content"]["application/cloudevents+json"]
    for path, event in (("/v1/approvals/events", "ApprovalEvent"), ("/v1/runs/{id}/events", "RunChange")):
        del document["paths"][path]
        del document["components"]["schemas"][event]
    return document


def main(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(HERE, target, ignore=shutil.ignore_patterns("templates", "generator.yml", "build.py", "requirements.txt", "__pycache__"))
    document = target / "openapi.json"
    document.write_text(json.dumps(readable(json.loads(source.read_text()))))
    written = ["--path", document, "--output-path", target / "mayfly" / "openapi", "--meta", "none"]
    how = ["--config", HERE / "generator.yml", "--custom-template-path", HERE / "templates", "--fail-on-warning"]
    subprocess.run([sys.executable, "-m", "openapi_python_client", "generate", *written, *how], check=True)
    document.unlink()
    for folder in ("mayfly", "scenarios"):
        if not (target / folder).exists():
            continue
        rule = unasync.Rule(f"/{folder}/_async/", f"/{folder}/_sync/", additional_replacements=NAMES)
        unasync.unasync_files([str(path) for path in (target / folder / "_async").glob("*.py")], [rule])


main(Path(sys.argv[1]), Path(sys.argv[2]))
