import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import type { SourceInspection } from '../../model/snapshots/source-access.ts';
import { runScript, type SourceConsole, toPrintable } from '../console.ts';
import { LAYOUT_VARIABLES } from './layout.ts';

/**
 * Shell function that digests sshd's settings for three other users: root, nobody, and the first that can log in. sshd
 * -T prints them in a fixed order (servconf.c, dump_config), so equal text is equal effect.
 */
export const OTHERS = `
others() {
  text=$(
    for who in root nobody "$(sed -n 's/^\\([^:]*\\):[^:]*:[1-9][0-9][0-9][0-9]:.*/\\1/p' /etc/passwd | head -n 1)"; do
      "$sshd" -T -C "user=\${who:-root},host=mayfly,addr=192.0.2.1,laddr=192.0.2.2,lport=22" || exit 1
    done
  ) || fail 'its sshd cannot print its settings (sshd -T)'
  echo "$text" | sha256sum | cut -d ' ' -f 1
}
`;

/** Shell function that prints the pid of the listening sshd, not one of a session or a container, or nothing. */
export const LISTENER = `
listener() {
  for process in /proc/[0-9]*; do
    exe=$(readlink "$process/exe" 2>/dev/null) || continue
    case $exe in */sshd | */sshd' (deleted)') ;; *) continue ;; esac
    [ "$(readlink "$process/ns/mnt")" = "$(readlink /proc/self/ns/mnt)" ] || continue
    parent=$(sed -n 's/^PPid:[[:space:]]*//p' "$process/status" 2>/dev/null) || continue
    case $parent in 0 | 1) echo "\${process#/proc/}"; return ;; esac
  done
}
`;

/** Inspection script. $1: bytes of the gate, $2: source id. Changes only the times of four folders (write test). */
const INSPECT = `${LAYOUT_VARIABLES}${OTHERS}${LISTENER}
[ "$(id -u)" = 0 ] || fail 'the way in is not root; a password is never asked for'
case $(uname -s)/$(uname -m) in Linux/x86_64) ;; *) fail "it is $(uname -s) on $(uname -m); the gate is for Linux on x86_64" ;; esac
for tool in sshd ssh-keygen useradd userdel groupdel getent sed grep head tail cut cp mv rm mkdir rmdir chmod chown \\
  stat sha256sum df readlink; do
  command -v "$tool" >/dev/null || fail "it has no program $tool; install it, preparing needs it"
done
sshd=$(command -v sshd)
[ -f "$config" ] || fail "it has no $config"

if [ -e "$state/owner" ] && [ "$(cat "$state/owner")" != "$2" ]; then
  fail "another Mayfly has prepared it ($(head -c 64 "$state/owner")); unprepare it there first"
fi
if getent passwd "$user" >/dev/null || getent group "$user" >/dev/null; then
  entry=$(getent passwd "$user" || :)
  case $entry in *:*:0:*) fail "its user $user has the uid 0; remove or rename that user" ;; esac
  [ -e "$state/accounts" ] || fail "it has a user or group $user that Mayfly did not make; remove or rename it"
  case $entry in '' | *":$comment:"*":$gate") ;; *) fail "its user $user has been changed since Mayfly made it" ;; esac
fi

for folder in /etc /etc/ssh /usr/local/lib /var/lib; do
  [ -d "$folder" ] || fail "it has no folder $folder"
  probe="$folder/.mayfly-probe.$$"
  (: >"$probe") 2>/dev/null || fail "$folder cannot be written: read-only, or full"
  rm -f "$probe"
done
free=$(df -Pk /usr/local/lib | tail -n 1 | sed 's/  */ /g' | cut -d ' ' -f 4)
[ "$free" -gt $(($1 / 512 + 1024)) ] || fail "it has $free KiB free below /usr/local/lib, the gate needs $(($1 / 512 + 1024))"

version=$({ "$sshd" -V 2>&1 || :; } | grep -o 'OpenSSH_[0-9]*\\.[0-9]*' | head -n 1) || :
[ -n "$version" ] || fail 'its sshd does not say that it is OpenSSH'
number=\${version#OpenSSH_}
major=\${number%.*} minor=\${number#*.}
[ "$major" -gt 7 ] || { [ "$major" = 7 ] && [ "$minor" -ge 4 ]; } || fail "its $version is older than 7.4"
said=$("$sshd" -t 2>&1) || fail "its sshd_config is not valid as it is (sshd -t): $said"
running=$(listener)
if [ -n "$running" ] && tr '\\0' '\\n' <"/proc/$running/cmdline" | grep -q '^-f'; then
  fail 'its sshd was started with -f, another configuration file'
fi
[ -n "$running" ] || systemctl is-active --quiet ssh.socket 2>/dev/null ||
  systemctl is-active --quiet sshd.socket 2>/dev/null || fail 'no sshd runs on it; start it'

selinux=none
if command -v getenforce >/dev/null; then selinux=$(getenforce); fi
placement=block
folder='^[[:space:]]*include[[:space:]=]*"\\{0,1\\}\\(/etc/ssh/\\)\\{0,1\\}sshd_config\\.d/\\*\\.conf"\\{0,1\\}[[:space:]]*$'
if [ -d /etc/ssh/sshd_config.d ] && sed '/^[[:space:]]*[Mm][Aa][Tt][Cc][Hh][[:space:]=]/,$d' "$config" | grep -qi "$folder"; then
  placement=drop-in
fi
effective=$("$sshd" -T -C user=root,host=mayfly,addr=192.0.2.1,laddr=192.0.2.2,lport=22)
key=
for path in $(echo "$effective" | sed -n 's/^hostkey //p'); do
  line=$(ssh-keygen -y -f "$path" </dev/null 2>/dev/null) || continue
  case $line in ssh-ed25519\\ *) key=$line; break ;; esac
done
[ -n "$key" ] || fail 'its sshd has no Ed25519 host key; make one with ssh-keygen -A and name it with HostKey'
echo "version=$version"
echo "port=$(echo "$effective" | sed -n 's/^port //p' | head -n 1)"
echo "hostKey=$(echo "$key" | cut -d ' ' -f 1,2)"
echo "selinux=$selinux"
echo "placement=$placement"
echo "othersDigest=$(others)"
echo "os=$(sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null | head -n 1)"
`;

const HOST_KEY = /^ssh-ed25519 [A-Za-z0-9+/]{68}$/;
const Printed = z.object({
  version: z.string().regex(/^OpenSSH_\d{1,2}\.\d{1,2}$/),
  port: z.coerce.number().int().min(1).max(65_535),
  hostKey: z.string().regex(HOST_KEY),
  selinux: z.string().transform((text) => toPrintable(text).toLowerCase()),
  placement: z.enum(['drop-in', 'block']),
  othersDigest: z.string().regex(/^[0-9a-f]{64}$/),
  os: z.string().transform((text) => toPrintable(text.replace(/^"|"$/g, ''))),
});

/**
 * Inspects a source before it is changed. @param gateBytes size of the gate, bytes @throws MayflyError prepare_failed
 * with the obstacle
 */
export async function inspectSource(
  console: SourceConsole,
  sourceId: string,
  gateBytes: number,
  signal: AbortSignal,
): Promise<SourceInspection> {
  const text = await runScript(console, INSPECT, [String(gateBytes), sourceId], { signal });
  const lines = text.split('\n').flatMap((line) => {
    const at = line.indexOf('=');
    return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
  });
  const parsed = Printed.safeParse(Object.fromEntries(lines));
  if (!parsed.success) {
    const fields = parsed.error.issues.map((issue) => issue.path.join('.')).join(', ');
    throw new MayflyError('prepare_failed', `What it says of itself makes no sense (${fields}).`);
  }
  const { version, port, hostKey, ...rest } = parsed.data;
  return { sshd: { version, port, hostKey }, ...rest };
}
