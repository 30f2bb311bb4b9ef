"""What scripts/fuzz.sh tells schemathesis: the key, not to revoke it, and ids of things that are there.

Without it the first DELETE /v1/keys/{id} that takes its id from a list ends the run in 401, and nearly all else in 404.
"""
import json
import os
import random
import re
import urllib.error
import urllib.request

import schemathesis

URL, KEY = os.environ["MAYFLY_URL"], os.environ["MAYFLY_API_KEY"]
OWN_ID = KEY.split("_")[1]
PATHS = re.compile(os.environ.get("MAYFLY_FUZZ_PATHS", "."))
SOURCE = os.environ.get("MAYFLY_FUZZ_SOURCE", "golden-debian12")
CALLS_BETWEEN_LOOKS = 40
"""How often the sandbox is looked at, which some calls have destroyed."""

draw = random.Random(int(os.environ.get("MAYFLY_TEST_SEED", "1")))
known = {}
calls = 0


@schemathesis.auth()
class Key:
    def get(self, case, ctx):
        return KEY

    def set(self, case, data, ctx):
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {data}"}


@schemathesis.serializer("application/x-tar")
def archive(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode()


def ask(method, path, body=None):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "Prefer": "wait=20"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError:
        return {}


def make():
    """One sandbox that runs, with a command and a snapshot; the others make room."""
    if "sandbox" in known and ask("GET", f"/v1/sandboxes/{known['sandbox']}").get("state") == "running":
        return
    for other in ask("GET", "/v1/sandboxes?alive=true&limit=200").get("items", []):
        ask("DELETE", f"/v1/sandboxes/{other['id']}")
        known["ended"] = other["id"]
    made = ask("POST", "/v1/sandboxes", {"source": SOURCE})
    if "id" not in made:
        return
    known["sandbox"] = made["id"]
    known["command"] = ask("POST", f"/v1/sandboxes/{made['id']}/commands", {"command": "echo hello"}).get("id")
    known["snapshot"] = ask("POST", f"/v1/sandboxes/{made['id']}/snapshots", {}).get("id")


def make_function():
    """A function that waits for nothing, and what belongs to it: some calls delete parts of it."""
    known["function"], known["schedule"], known["secret"] = "fuzzed", "fuzzed", "fuzzed"
    ask("PUT", "/v1/functions/fuzzed", {"source": SOURCE, "command": "cat", "cpus": 1, "memoryMib": 128})
    # Pauses the function, so that triggered runs wait: each would need a machine.
    ask("POST", "/v1/functions/fuzzed/" + ("pause" if calls else "resume"))
    ask("PUT", "/v1/secrets/fuzzed", {"value": "a secret of the fuzzer"})
    ask("PUT", "/v1/schedules/fuzzed", {"function": "fuzzed", "every": "1d"})
    if len(ask("GET", "/v1/hooks?function=fuzzed").get("items", [])) < 50:
        hook = {"function": "fuzzed", "scheme": "bearer", "secrets": ["a token of the fuzzer"]}
        known["hook"] = ask("POST", "/v1/hooks", hook).get("id")
    endpoints = ask("GET", "/v1/webhook-endpoints").get("items", [])
    endpoint = {"url": "https://example.invalid/", "types": ["run.ended"]}
    known["endpoint"] = endpoints[0]["id"] if endpoints else ask("POST", "/v1/webhook-endpoints", endpoint).get("id")
    known["run"] = ask("POST", "/v1/functions/fuzzed/runs", {"n": calls}).get("id")
    if known["run"]:
        known["token"] = ask("POST", f"/v1/runs/{known['run']}/waitpoints", {"name": "fuzzed"}).get("token")


WHICH = [
    ("/v1/functions/{name}", "name", "function"),
    ("/v1/hooks/{id}", "id", "hook"),
    ("/v1/schedules/{name}", "name", "schedule"),
    ("/v1/secrets/{name}", "name", "secret"),
    ("/v1/webhook-endpoints/{id}", "id", "endpoint"),
    ("/v1/runs/{id}", "id", "run"),
    ("/v1/waitpoints/{token}", "token", "token"),
]


@schemathesis.hook
def before_call(ctx, case, kwargs):
    global calls
    if calls % CALLS_BETWEEN_LOOKS == 0:
        if PATHS.search("/v1/sandboxes/x"):
            make()
        make_function()
    calls += 1
    parameters, path, method = case.path_parameters or {}, case.operation.path, case.operation.method.upper()
    if path == "/v1/keys/{id}" and parameters.get("id") == OWN_ID:
        parameters["id"] = "0" * 12
    if draw.random() < 0.4:
        return
    wanted = {}
    if path == "/v1/sandboxes/{id}/events":
        wanted["id"] = "ended"  # a stream of one that lives would not end
    elif path.startswith("/v1/sandboxes/{id}") and (method != "DELETE" or path != "/v1/sandboxes/{id}" or draw.random() < 0.1):
        wanted["id"] = "sandbox"
    elif path == "/v1/snapshots/{id}" and method == "GET":
        wanted["id"] = "snapshot"
    if "commandId" in parameters:
        wanted["commandId"] = "command"
    if path == "/v1/snapshots/{a}/diff/{b}":
        wanted["a"] = wanted["b"] = "snapshot"
    for prefix, name, what in WHICH:
        if path.startswith(prefix) and not (method == "DELETE" and path == prefix and draw.random() < 0.9):
            wanted[name] = what
    for name, what in wanted.items():
        if known.get(what):
            parameters[name] = known[what]
    if path.startswith("/v1/sources/{name}"):
        parameters["name"] = SOURCE
