#!/bin/sh
# Creates a certificate and key for each process and for Temporal, by two CAs: `ca` certifies Temporal and processes
# with full access (ui, admin, control, proxy); `proxy-ca` certifies the proxy's server and its callers (api,
# host-<MAYFLY_HOST_ID>), whose rights are in docs/security.md. Existing ones stay, so it may be repeated:
#
#   deploy/temporal/certificates.sh FOLDER                        # all but hosts
#   deploy/temporal/certificates.sh FOLDER host-kvm-1 host-kvm-2  # those of hosts
#   RENEW=1 deploy/temporal/certificates.sh FOLDER api            # another certificate and key for the named ones
#
# FOLDER is for its owner alone; keep FOLDER/ca and FOLDER/proxy-ca off the machines that need no new certificate.
# Certificates live 397 days, the CAs ten years. NAMES has more names and addresses of the servers, as
# `DNS:temporal.lan,IP:10.0.0.5`.
set -eu
umask 077
folder=${1:?the folder to make them in}
shift
[ $# -gt 0 ] || set -- server ui admin control proxy proxy-server api

# Prints output only after a failure.
quietly() {
  said=$("$@" 2>&1) || { echo "$said" >&2; exit 1; }
}
new_key() {
  quietly openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"
}

mkdir -p "$folder/ca" "$folder/proxy-ca"
chmod 700 "$folder" "$folder/ca" "$folder/proxy-ca"
for ca in ca proxy-ca; do
  if [ -e "$folder/$ca/ca.pem" ]; then continue; fi
  case $ca in ca) of='Mayfly Temporal CA' ;; *) of='Mayfly Temporal proxy CA' ;; esac
  new_key "$folder/$ca/ca.key"
  quietly openssl req -x509 -new -key "$folder/$ca/ca.key" -days 3650 -subj "/CN=$of" -out "$folder/$ca/ca.pem.new" \
    -addext basicConstraints=critical,CA:TRUE,pathlen:0 -addext keyUsage=critical,keyCertSign
  mv "$folder/$ca/ca.pem.new" "$folder/$ca/ca.pem"
done

if [ ! -e "$folder/ca/payload.key" ]; then
  openssl rand -hex 32 >"$folder/ca/payload.key.new"
  mv "$folder/ca/payload.key.new" "$folder/ca/payload.key"
fi

for name; do
  case $name in *[!a-z0-9-]* | -* | ca | proxy-ca | host | host-) echo "$name is no name for a process: a-z, 0-9 and -, of a host host-<id>" >&2; exit 1 ;; esac
  own="$folder/$name"
  if [ -e "$own/cert.pem" ] && [ -z "${RENEW:-}" ]; then continue; fi
  # Temporal and its UI run as users of their own in containers that mount this folder alone.
  case $name in server | ui | admin) mode=644 open=755 ;; *) mode=600 open=700 ;; esac
  case $name in api | host-* | proxy-server) ca=proxy-ca ;; *) ca=ca ;; esac
  case $name in
    server) usage=serverAuth,clientAuth names=DNS:temporal ;;
    proxy-server) usage=serverAuth names=DNS:proxy ;;
    *) usage=clientAuth names= ;;
  esac
  mkdir -p "$own"
  chmod $open "$own"
  new_key "$own/key.pem.new"
  quietly openssl req -new -key "$own/key.pem.new" -subj "/CN=$name" -out "$own/request"
  {
    echo basicConstraints=critical,CA:FALSE
    echo keyUsage=critical,digitalSignature
    echo extendedKeyUsage=$usage
    [ -z "$names" ] || echo "subjectAltName=$names,DNS:localhost,IP:127.0.0.1${NAMES:+,$NAMES}"
  } >"$own/extensions"
  quietly openssl x509 -req -days 397 -in "$own/request" -CA "$folder/$ca/ca.pem" -CAkey "$folder/$ca/ca.key" \
    -CAcreateserial -extfile "$own/extensions" -out "$own/cert.pem.new"
  cp "$folder/$ca/ca.pem" "$own/ca.pem"
  # Key that encrypts payloads in Temporal and the store: for Mayfly's own processes alone.
  [ $mode = 644 ] || [ "$name" = proxy-server ] || install -m 600 "$folder/ca/payload.key" "$own/payload.key"
  chmod $mode "$own/key.pem.new" "$own/cert.pem.new" "$own/ca.pem"
  mv "$own/key.pem.new" "$own/key.pem"
  mv "$own/cert.pem.new" "$own/cert.pem"
  rm "$own/request" "$own/extensions"
  echo "$name: $(openssl x509 -noout -enddate -in "$own/cert.pem")"
done
