#!/bin/bash
# mmdebstrap hook: puts Debian's kernel into the root given, without the tools that install one.
#
# Sandboxes boot a kernel that the host hands them, so the guest needs its modules only, and neither an initrd
# builder nor a boot loader. Generic rather than cloud flavour: that one lacks VMGENID and AHCI.
set -euo pipefail
root=$1

package=$(chroot "$root" apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p')
[ -n "$package" ] || { echo 'kernel.sh: linux-image-amd64 names no kernel package' >&2; exit 1; }
chroot "$root" sh -c 'cd /tmp && apt-get -qq -o APT::Sandbox::User=root download "$1"' sh "$package"
dpkg-deb --extract "$root"/tmp/"$package"_*.deb "$root/tmp/kernel"

version=$(ls "$root/tmp/kernel/lib/modules")
kernel=$root/tmp/kernel/lib/modules/$version/kernel
drivers=$kernel/drivers
# Hardware that no virtual machine has; two thirds of all modules. (networkd queries nl80211 with or without a
# radio: a megabyte of module, loaded at every boot.)
rm -rf "$kernel/sound" "$kernel"/net/{bluetooth,ieee802154,mac80211,mac802154,nfc,rfkill,wireless} \
  "$drivers"/{accessibility,bluetooth,comedi,edac,extcon,firewire,gnss,gpu,hwmon,iio,infiniband,isdn,leds,media,memstick,mfd,mmc,mtd,nfc,pcmcia,platform,power,soundwire,spi,ssb,staging,thermal,thunderbolt,ufs,w1} \
  "$drivers"/net/{arcnet,can,ethernet,fddi,hamradio,hippi,ieee802154,phy,usb,wan,wireless,wwan}

mkdir -p "$root/usr/lib/modules" "$root/boot"
mv "$root/tmp/kernel/lib/modules/$version" "$root/usr/lib/modules/"
mv "$root/tmp/kernel/boot/vmlinuz-$version" "$root/tmp/kernel/boot/config-$version" "$root/boot/"
rm -r "$root/tmp/kernel" "$root"/tmp/*.deb
chroot "$root" depmod "$version"
