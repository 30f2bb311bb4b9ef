import { READY_FILE } from '../../../model/image/ready.ts';
import { STOPPED_TIMERS } from '../memory/renew-guest.ts';

/**
 * Script that brings a guest, booted without a network, to the state saved as a template; run in it as root, before it
 * is frozen. Constant text without arguments.
 *
 * It waits until the boot is complete, and the image ready by its own check; reads the files of a first login and a
 * first command, and removes the guest's identity. No connection has been made by then, not even to itself: with the
 * first, the kernel draws the secrets of its TCP sequence numbers, timestamps and ports, once.
 */
export const PREPARE_TEMPLATE_GUEST = `set -u
PATH=/usr/sbin:/usr/bin:/sbin:/bin; export PATH; LC_ALL=C; export LC_ALL
umask 022
state=$(timeout 60 systemctl is-system-running --wait 2>/dev/null)
case $state in running | degraded) ;; *) echo "its boot does not end: $state" >&2; exit 3 ;; esac
[ ! -f ${READY_FILE} ] || ${READY_FILE} </dev/null >/dev/null || exit 7

# as a login: sshd with its libraries, PAM, the shell; what comes after it
/usr/sbin/sshd -i </dev/null >/dev/null 2>&1
for user in sandbox root; do su - "$user" -c true </dev/null >/dev/null 2>&1; done
for file in /opt/mayfly/mayfly-agent /usr/bin/sudo /usr/bin/env /bin/ls /bin/cat /bin/uname; do [ ! -f "$file" ] || cat "$file" >/dev/null; done
for program in perl ip ss date sync sed; do command -v "$program" >/dev/null || { echo "it has no $program" >&2; exit 4; }; done
perl -e 1; ip link >/dev/null; ss -H -t >/dev/null

failed=
gone() { for p; do if [ -e "$p" ] || [ -L "$p" ]; then rm -rf --one-file-system -- "$p" || failed="$failed $p"; fi; done; }
inside() { if [ -d "$1" ] && [ ! -L "$1" ]; then find "$1" -xdev -mindepth 1 -depth -delete 2>/dev/null; fi; }
# it starts anew, with other random numbers, when it is asked for; sshd and the journal do when the guest is renewed
systemctl stop mayfly-agent.service >/dev/null 2>&1
gone /etc/ssh/ssh_host_* /var/lib/systemd/random-seed /var/lib/urandom/random-seed /var/lib/systemd/credential.secret
for name in user_ca.pub principals revoked_keys; do
  for p in /etc/ssh/mayfly_$name /etc/ssh/mayfly/$name; do [ ! -f "$p" ] || : >"$p"; done
done
gone /var/lib/mayfly/instance-id
for home in /root /home/*; do
  for name in bash ash sh zsh python node_repl mysql psql sqlite rediscli; do gone "$home/.\${name}_history"; done
  gone "$home/.histfile" "$home/.lesshst" "$home/.viminfo" "$home/.wget-hsts"
done
# of cloud-init's instance stays what has run, which the next one takes over, and that all has
find /var/lib/cloud/instances -xdev -mindepth 2 ! -type d ! -path '*/sem/*' ! -name boot-finished -delete 2>/dev/null
find /var/lib/cloud/data /run/cloud-init -xdev ! -type d ! -name status.json ! -name result.json ! -name 'cloud-id*' ! -name enabled -delete 2>/dev/null
inside /var/lib/dhcp; inside /var/lib/dhclient; inside /var/lib/dhcpcd; inside /run/systemd/netif/leases
inside /var/log/journal; inside /run/log/journal
find /tmp /var/tmp -xdev -mindepth 1 ! -type d -delete 2>/dev/null
for p in /var/log/wtmp /var/log/btmp /var/log/lastlog /run/utmp; do [ ! -f "$p" ] || : >"$p"; done
grep -rlF -- "$(cat /proc/sys/kernel/hostname)" /var/log 2>/dev/null | while read -r p; do : >"$p"; done
# what was due while the template lies there is not due when it wakes, as it is not when a guest boots
systemctl show --property=Id,ActiveState,TimersCalendar '*.timer' 2>/dev/null | awk -v RS= '/ActiveState=active/ && /TimersCalendar=[{]/ {
  match($0, /Id=[^\\n]*/); print substr($0, RSTART + 3, RLENGTH - 3) }' | while read -r timer; do
  systemctl stop "$timer" && printf '%s\\n' "$timer" >>${STOPPED_TIMERS}
done
find /var/lib/systemd/timers -xdev -name 'stamp-*' -newermt "@$(awk '$1 == "btime" { print $2 }' /proc/stat)" -delete 2>/dev/null
[ -z "$failed" ] || { printf 'could not be removed:%s\\n' "$failed" >&2; exit 1; }

opened=$(awk '$1 == "Tcp:" && $6 ~ /^[0-9]+$/ { print $6 + $7 }' /proc/net/snmp)
[ "$opened" = 0 ] || { echo "it has made $opened TCP connections, if only to itself" >&2; exit 5; }
for nic in /sys/class/net/*; do
  [ "\${nic##*/}" = lo ] || [ "$(cat "$nic/carrier" 2>/dev/null || echo 0)" = 0 ] || { echo "\${nic##*/} has a cable" >&2; exit 6; }
done
sync
echo settled`;
