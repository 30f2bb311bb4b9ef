#!/bin/bash
# make.sh ROOT OUT: writes OUT/initrd from the kernel modules in ROOT.
#
# Debian's own initrd probes for disks, keyboards and encryption for 3.6 s of emulated time; a sandbox's root is always
# /dev/vda with ext4, so busybox and a dozen modules are enough. Not compressed: unpacking costs more than reading.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$1 out=$2
version=$(ls "$root/usr/lib/modules")
tree=$(mktemp -d -p "$(dirname "$root")" initrd.XXXXXX)

# crc32c first: ext4 requests it by a name that only modprobe can resolve. The CD modules are for a seed on virtio-scsi.
modules='crc32c_generic crc32c_intel virtio_pci virtio_blk ext4 virtio_net virtio_console virtio_rng virtio_scsi sr_mod isofs'

busybox=$(command -v busybox) || { echo 'initrd: busybox-static is not installed' >&2; exit 1; }
mkdir -p "$tree"/{bin,dev,modules,newroot}
install -m 0755 "$busybox" "$tree/bin/busybox"
install -m 0755 "$here/init" "$tree/init"

for module in $modules; do
  # Only "insmod PATH" lines name files; built-in modules are listed as "builtin NAME".
  modprobe --dirname "$root" --set-version "$version" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p' |
    while read -r file; do
      name=$(basename "$file")
      [ -f "$tree/modules/$name" ] && continue
      cp "$file" "$tree/modules/$name"
      echo "$name" >>"$tree/modules/order"
    done
done

(cd "$tree" && find . -print0 | sort -z | cpio --quiet --null --create --format=newc --owner=0:0) >"$out/initrd"
