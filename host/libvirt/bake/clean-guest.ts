/**
 * Script that removes a guest's identity; run in it as root. Constant text without arguments. A missing file is
 * ignored; one that cannot be removed fails. Writers are stopped first, or they would write it again at shutdown.
 *
 * Files with keys are overwritten before removal. Then the free blocks are handed back to the host (FITRIM), which
 * reads them as zeros from then on.
 */
export const CLEAN_GUEST = `set -u
PATH=/usr/sbin:/usr/bin:/sbin:/bin; export PATH; LC_ALL=C; export LC_ALL
umask 022
failed=
gone() { for p; do if [ -e "$p" ] || [ -L "$p" ]; then rm -rf --one-file-system -- "$p" || failed="$failed $p"; fi; done; }
shred_all() { for p; do if [ -f "$p" ] && [ ! -L "$p" ]; then shred -n 0 -z -- "$p" 2>/dev/null; fi; gone "$p"; done; }
emptied() { if [ -e "$1" ] || [ -L "$1" ]; then rm -f -- "$1"; : >"$1" || failed="$failed $1"; fi; }
inside() { if [ -d "$1" ] && [ ! -L "$1" ]; then find "$1" -xdev -mindepth 1 -depth -delete 2>/dev/null; fi; }

systemctl stop mayfly-agent.service ssh.service sshd.service ssh.socket cron.service crond.service rsyslog.service \\
  syslog.socket systemd-journald.socket systemd-journald-dev-log.socket systemd-journald-audit.socket \\
  systemd-journald.service systemd-random-seed.service cloud-init.target >/dev/null 2>&1

shred_all /etc/ssh/ssh_host_* /etc/ssh/mayfly /etc/ssh/sshd_config.d/00-mayfly.conf
for p in /etc/ssh/mayfly_user_ca.pub /etc/ssh/mayfly_principals /etc/ssh/mayfly_revoked_keys; do emptied "$p"; done
gone /var/lib/mayfly
gone /etc/machine-id /var/lib/dbus/machine-id; : >/etc/machine-id || failed="$failed /etc/machine-id"
gone /etc/hostname; echo localhost >/etc/hostname || failed="$failed /etc/hostname"
if [ -f /etc/hosts ]; then sed -i -E '/sbx-[0-9a-hjkmnp-tv-z]{16}/d' /etc/hosts || failed="$failed /etc/hosts"; fi

gone /var/lib/cloud/instance /var/lib/cloud/instances /var/lib/cloud/data /var/lib/cloud/sem /run/cloud-init
gone /etc/netplan/50-cloud-init.yaml /etc/network/interfaces.d/50-cloud-init* \\
  /etc/NetworkManager/system-connections/cloud-init-* /etc/systemd/network/10-cloud-init-*
inside /var/lib/dhcp; inside /var/lib/dhclient; inside /var/lib/dhcpcd; inside /var/lib/systemd/network
gone /etc/dhcpcd.duid /etc/dhcpcd.secret /var/lib/NetworkManager/*.lease /var/lib/NetworkManager/secret_key \\
  /var/lib/NetworkManager/timestamps /var/lib/NetworkManager/seen-bssids /etc/udev/rules.d/70-persistent-net.rules
shred_all /var/lib/systemd/random-seed /var/lib/urandom/random-seed /var/lib/systemd/credential.secret
inside /var/lib/systemd/coredump; inside /var/crash; inside /var/log/journal
if [ -d /var/log ]; then
  find /var/log -xdev -type f \\( -name '*.gz' -o -name '*.xz' -o -name '*.[0-9]' -o -name '*.old' \\) -delete
  find /var/log -xdev -type f -size +0 -exec truncate -s 0 {} +
fi
for home in /root /home/*; do
  [ -d "$home" ] && [ ! -L "$home" ] || continue
  for name in bash_history ash_history sh_history zsh_history histfile python_history node_repl_history mysql_history \\
    psql_history sqlite_history rediscli_history lesshst viminfo wget-hsts; do
    shred_all "$home/.$name"
  done
done
inside /tmp; inside /var/tmp
[ -z "$failed" ] || { printf 'could not be removed:%s\\n' "$failed" >&2; exit 1; }
sync
fstrim --all >/dev/null 2>&1
sync
exit 0
`;
