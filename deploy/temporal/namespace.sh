#!/bin/sh
# Creates a missing namespace. RETENTION is how long closed workflows stay visible; records and audit are in MongoDB and
# unaffected.
set -eu
namespace() {
  temporal operator namespace "$@" --namespace "$NAMESPACE" --tls-server-name temporal \
    --tls-ca-path /certificates/ca.pem --tls-cert-path /certificates/cert.pem --tls-key-path /certificates/key.pem
}
namespace describe >/dev/null 2>&1 || namespace create --retention "$RETENTION"
