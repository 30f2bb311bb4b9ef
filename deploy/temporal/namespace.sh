#!/bin/sh
# Makes the namespace when it is missing. RETENTION is how long closed sagas stay to be looked at; records and audit
# are in MongoDB and are not touched by it.
set -eu
namespace() {
  temporal operator namespace "$@" --namespace "$NAMESPACE" --tls-server-name temporal \
    --tls-ca-path /certificates/ca.pem --tls-cert-path /certificates/cert.pem --tls-key-path /certificates/key.pem
}
namespace describe >/dev/null 2>&1 || namespace create --retention "$RETENTION"
