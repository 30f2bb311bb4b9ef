# Runs inside the new root, once, as root: what packages leave to the administrator.

# --- who may log in: sandbox, with a certificate for this machine, and nobody else ---
useradd --create-home --uid 1000 --user-group --shell /bin/bash --password '*' sandbox
usermod --password '*' root
chmod 0440 /etc/sudoers.d/sandbox
chmod 0755 /usr/local/sbin/mayfly-seed /usr/local/sbin/mayfly-resolv
rm -f /etc/ssh/ssh_host_*
# sshd refuses every key when the revocation list is missing; with no CA and no principal an empty one admits nobody.
for file in mayfly_user_ca.pub mayfly_principals mayfly_revoked_keys; do
  : >"/etc/ssh/$file"
done

# --- identity: given by the seed at first boot, never baked in ---
: >/etc/machine-id
echo mayfly >/etc/hostname
printf '127.0.0.1 localhost\n127.0.1.1 mayfly\n' >/etc/hosts
rm -f /etc/resolv.conf /var/lib/dbus/machine-id
ln -s /run/mayfly-resolv.conf /etc/resolv.conf
: >/etc/fstab

# --- what starts ---
systemctl --quiet enable systemd-networkd.service ssh.service mayfly-seed.service mayfly-resolv.path \
  mayfly-agent.service
systemctl --quiet disable systemd-networkd-wait-online.service getty@tty1.service remote-fs.target systemd-pstore.service \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer

# Each of these costs boot time and serves what a disposable machine has not: consoles with logins, a battery-backed
# history, hardware to probe, pseudo file systems that mount themselves when somebody asks for them.
systemctl --quiet mask \
  systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-journal-flush.service \
  systemd-random-seed.service systemd-backlight@.service systemd-timesyncd.service systemd-binfmt.service \
  proc-sys-fs-binfmt_misc.automount systemd-hwdb-update.service systemd-sysusers.service systemd-sysctl.service \
  systemd-modules-load.service systemd-network-generator.service systemd-pstore.service systemd-logind.service \
  modprobe@configfs.service modprobe@drm.service modprobe@dm_mod.service modprobe@efi_pstore.service \
  modprobe@loop.service modprobe@fuse.service kmod-static-nodes.service \
  dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount \
  sys-fs-fuse-connections.mount getty.target serial-getty@ttyS0.service cryptsetup.target \
  systemd-ask-password-wall.path systemd-ask-password-console.path man-db.timer \
  systemd-remount-fs.service systemd-user-sessions.service systemd-tmpfiles-setup-dev.service

# The initrd has mounted the root as it stays, and every unit there is was named above: nothing is left to generate.
mkdir -p /etc/systemd/system-generators /etc/tmpfiles.d
for generator in /usr/lib/systemd/system-generators/*; do
  ln -s /dev/null "/etc/systemd/system-generators/${generator##*/}"
done
# Without systemd-user-sessions nobody would take this ban on logins away again.
ln -s /dev/null /etc/tmpfiles.d/systemd-nologin.conf

# --- what nobody reads ---
apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt
