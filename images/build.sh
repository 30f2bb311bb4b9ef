#!/bin/bash
# Builds an image from Debian packages: build.sh NAME FOLDER AGENT: its name, such as golden-agent, an existing
# empty folder and the guest agent. Leaves disk.qcow2, vmlinux, initrd and image.json in it. Needs root, for chroot
# and for file owners.
#
# A half-built FOLDER is useless: the caller builds aside and renames, like scripts/setup/image.mjs, and runs this
# in a mount namespace, so that mounts of a failed build end with it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
usage='usage: build.sh NAME FOLDER AGENT'
name=${1:?$usage}
out=$(cd "${2:?$usage}" && pwd)
agent=${3:?$usage}
# Suffix of the image's own files, as in worker/config/artifacts.mjs.
own=${name#golden-}
own=${own%-debian12}

umask 022
suite=bookworm
# Virtual size; the file holds only written blocks.
disk_size=8G
work=$out/work
root=$work/root

say() { printf '%s\n' "$*"; }

# Prints the host's own mirror if the host runs that Debian; otherwise mmdebstrap uses its default.
sources() {
  local host=/etc/apt/sources.list.d/debian.sources
  # shellcheck disable=SC1091
  if [ -f "$host" ] && [ "$(. /etc/os-release && printf %s "${VERSION_CODENAME:-}")" = "$suite" ]; then printf %s "$host"; fi
}

install_packages() {
  local include
  local lists=("$here/packages")
  if [ -f "$here/packages.$own" ]; then lists+=("$here/packages.$own"); fi
  include=$(grep -hv '^#' "${lists[@]}" | paste -sd,)
  # No fsync per file, since a failed build is discarded. Not quiet, since that hides the errors of apt.
  mmdebstrap --mode=root --variant=minbase --include="$include" \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
    --extract-hook="$here/exclude.sh" --customize-hook="$here/kernel.sh" \
    "$suite" "$root" $(sources)
}

make_disk() {
  truncate --size="$disk_size" "$work/disk.raw"
  # Writes all tables here, once: otherwise every guest would write them into its own overlay.
  mke2fs -q -t ext4 -L root -m 1 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard -d "$root" "$work/disk.raw"
  qemu-img convert -O qcow2 "$work/disk.raw" "$out/disk.qcow2"
}

# Halves the time: dpkg syncs its database a thousand times. Images with packages of their own need more than this
# tmpfs.
use_memory() {
  [ ! -f "$here/packages.$own" ] || return 0
  awk '/^MemAvailable:/ { exit $2 < 4 * 1024 * 1024 }' /proc/meminfo || return 0
  mount -t tmpfs -o size=3g,mode=0755 mayfly "$work"
}

mkdir "$work"
use_memory
say 'installing packages'
install_packages
if [ -f "$here/npm.$own" ]; then
  say 'installing Node.js'
  "$here/node.sh" "$here/npm.$own" "$root"
fi
say 'configuring the system'
cp -r "$here/root/." "$root/"
if [ -d "$here/root.$own" ]; then cp -r "$here/root.$own/." "$root/"; fi
install -D -m 0755 "$agent" "$root/opt/mayfly/mayfly-agent"
chroot "$root" /bin/sh -eu <"$here/configure.sh"
if [ -f "$here/configure.$own" ]; then chroot "$root" /bin/sh -eu <"$here/configure.$own"; fi
say 'making kernel and initrd'
"$here/initrd/make.sh" "$root" "$out"
node "$here/unpack-kernel.mjs" "$root"/boot/vmlinuz-* "$out/vmlinux"
say 'writing the disk'
make_disk
node "$here/describe.mjs" "$name" "$root" "$out" >"$out/image.json"
if mountpoint --quiet "$work"; then umount "$work"; fi
rm -rf --one-file-system "$work"
chmod 0444 "$out/disk.qcow2" "$out/vmlinux" "$out/initrd" "$out/image.json"
