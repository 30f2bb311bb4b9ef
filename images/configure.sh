# Runs inside the new root, once, as root: completes the configuration that packages leave to the administrator.

# --- login: only sandbox, with a certificate for this machine ---
useradd --create-home --uid 1000 --user-group --shell /bin/bash --password '*' sandbox
usermod --password '*' root
chmod 0440 /etc/sudoers.d/sandbox
chmod 0755 /usr/local/sbin/mayfly-seed /usr/local/sbin/mayfly-resolv
rm -f /etc/ssh/ssh_host_*
# sshd refuses every key without a revocation list; with an empty CA or principals file no login succeeds.
for file in mayfly_user_ca.pub mayfly_principals mayfly_revoked_keys; do
  : >"/etc/ssh/$file"
done

# --- identity: from the seed at first boot, never baked in ---
: >/etc/machine-id
echo mayfly >/etc/hostname
printf '127.0.0.1 localhost\n127.0.1.1 mayfly\n' >/etc/hosts
rm -f /etc/resolv.conf /var/lib/dbus/machine-id
ln -s /run/mayfly-resolv.conf /etc/resolv.conf
: >/etc/fstab

# --- services ---
systemctl --quiet enable systemd-networkd.service ssh.service mayfly-seed.service mayfly-resolv.path \
  mayfly-agent.service
systemctl --quiet disable systemd-networkd-wait-online.service getty@tty1.service remote-fs.target systemd-pstore.service \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer

# Each of these costs boot time and serves nothing in a disposable machine: consoles with logins, a battery-backed
# history, hardware to probe, pseudo file systems that mount themselves on demand.
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

# The initrd mounts the root finally, and every unit was named above: no generator is needed.
mkdir -p /etc/systemd/system-generators /etc/tmpfiles.d
for generator in /usr/lib/systemd/system-generators/*; do
  ln -s /dev/null "/etc/systemd/system-generators/${generator##*/}"
done
# Without systemd-user-sessions this ban on logins would never be lifted.
ln -s /dev/null /etc/tmpfiles.d/systemd-nologin.conf

# --- unused files ---
apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt
