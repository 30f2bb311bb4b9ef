#!/bin/sh
# Makes the namespace when it is missing. RETENTION is how long closed sagas stay to be looked at; records and audit
# are in MongoDB and are not touched by it.
set -eu
temporal operator namespace describe --namespace "$NAMESPACE" >/dev/null 2>&1 ||
  temporal operator namespace create --namespace "$NAMESPACE" --retention "$RETENTION"
