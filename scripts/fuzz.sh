#!/bin/sh
# `npm run fuzz -- [seconds [more arguments of schemathesis]]`: schemathesis sends random requests to every operation of
# a running Mayfly, and checks each response and event against /openapi.json. Only for an installation whose data may be
# lost: `MAYFLY_HOST=simulated mayfly up` with a state folder of its own. MAYFLY_URL and MAYFLY_API_KEY select it;
# MAYFLY_FUZZ_PATHS is a regular expression that restricts operations by path. By hand: schemathesis is Python (pip
# install schemathesis).
#
# Intended findings: ST202 (a rule that no schema can express: two fields that exclude one another, a cursor that no
# list gave, an Idempotency-Key used before), ST301 (deleted things stay readable, with their proof), ST201 of `prefer`
# (the command line replaces the generated value), and ST101 of 502 `port_closed` (nothing listens there) and 503
# `no_host` (it has drained the host).
set -eu
: "${MAYFLY_URL:?}" "${MAYFLY_API_KEY:?}"
seconds=${1:-600}
[ $# -eq 0 ] || shift
folder=$(cd "$(dirname "$0")" && pwd)
cd "$(mktemp -d)" # it keeps notes of what it found where it runs
export SCHEMATHESIS_HOOKS=fuzz_hooks PYTHONPATH="$folder" PYTHONDONTWRITEBYTECODE=1
# One worker: with two, Python 3.11 ended in `AST constructor recursion depth mismatch`. The hooks send the key, which
# thus is in no process arguments.
echo "seed ${MAYFLY_TEST_SEED:-1}"
exec nice schemathesis run "$MAYFLY_URL/openapi.json" -H 'Prefer: wait=1' --workers 1 --request-timeout "${MAYFLY_FUZZ_TIMEOUT:-6}" \
  --include-path-regex "${MAYFLY_FUZZ_PATHS:-.}" --continue-on-failure --seed "${MAYFLY_TEST_SEED:-1}" --max-time "$seconds" "$@"
