#!/bin/bash
# Builds a Debian like the genericcloud image of Debian's cloud team, which cannot be downloaded here:
# cloud-image.sh FOLDER, an existing empty folder. Leaves disk.qcow2, vmlinuz and initrd in it. Needs root.
#
# Same as theirs: packages with default configuration, cloud kernel with its own initrd, netplan over networkd and
# resolved, a partition table. Different: no boot loader, no unattended-upgrades, no documentation, and a machine-id,
# as in an image that was booted once before it became a source.
set -euo pipefail
out=$(cd "${1:?usage: cloud-image.sh FOLDER}" && pwd)

umask 022
suite=bookworm
disk_mib=3072
partition=9a1d7c52-3b0e-4f86-8c4d-6e1f2a5b7c90
work=$out/work
root=$work/root

packages=(
  linux-image-cloud-amd64 initramfs-tools zstd init udev kmod dbus polkitd libpam-systemd netbase iproute2 procps
  cloud-init cloud-initramfs-growroot netplan.io systemd-resolved libnss-myhostname systemd-timesyncd
  openssh-server sudo qemu-guest-agent
)

sources() {
  local own=/etc/apt/sources.list.d/debian.sources
  # shellcheck disable=SC1091
  if [ -f "$own" ] && [ "$(. /etc/os-release && printf %s "${VERSION_CODENAME:-}")" = "$suite" ]; then printf %s "$own"; fi
}

install_packages() {
  mmdebstrap --quiet --mode=root --variant=minbase --include="$(IFS=, && echo "${packages[*]}")" \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' "$suite" "$root" $(sources)
}

# Settings that Debian's build leaves to the first boot, and those for cloud-init.
configure() {
  rm -f "$root"/etc/ssh/ssh_host_*
  echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
  : >"$root/etc/hostname"
  ln -sf /run/systemd/resolve/resolv.conf "$root/etc/resolv.conf"
  echo LANG=C.UTF-8 >"$root/etc/default/locale"
  chroot "$root" systemctl --quiet enable systemd-networkd systemd-resolved
  printf 'PARTUUID=%s / ext4 rw,discard,errors=remount-ro,x-systemd.growfs 0 1\n' "$partition" >"$root/etc/fstab"
}

make_disk() {
  # The image's own sfdisk, which growpart needs: the host may lack it.
  truncate --size="${disk_mib}M" "$root/disk.raw"
  printf 'label: gpt\nstart=1MiB, uuid=%s\n' "$partition" | chroot "$root" sfdisk --quiet /disk.raw
  mv "$root/disk.raw" "$work/disk.raw"
  mke2fs -q -t ext4 -E offset=1048576,lazy_itable_init=0,lazy_journal_init=0,nodiscard -d "$root" \
    "$work/disk.raw" "$((disk_mib - 2))M"
  qemu-img convert -O qcow2 "$work/disk.raw" "$out/disk.qcow2"
}

mkdir "$work"
install_packages
configure
cp "$root"/boot/vmlinuz-* "$out/vmlinuz"
cp "$root"/boot/initrd.img-* "$out/initrd"
make_disk
rm -rf --one-file-system "$work"
chmod 0444 "$out"/*
