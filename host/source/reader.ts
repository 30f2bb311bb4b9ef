import { runScript, type SourceConsole } from '../console.ts';
import { CLAIMED, ONLY_OURS } from './layout.ts';

/**
 * Script that saves account files. useradd keeps the previous ones as passwd-, group- and so on; these are saved too,
 * with the digests of the files themselves, so that removal can restore the original state.
 */
const REMEMBER = `
if [ ! -e "$state/accounts" ]; then
  rm -rf "$state/accounts.new"
  mkdir -m 0700 "$state/accounts.new"
  for file in passwd group shadow gshadow; do
    [ ! -e "/etc/$file" ] || sha256sum <"/etc/$file" | cut -d ' ' -f 1 >"$state/accounts.new/$file.digest"
    [ ! -e "/etc/$file-" ] || cp -p "/etc/$file-" "$state/accounts.new/$file"
  done
  [ ! -e /etc/.pwd.lock ] || : >"$state/accounts.new/pwd.lock"
  mv "$state/accounts.new" "$state/accounts"
fi
`;

/**
 * Script that creates the user. The gate is its shell, so sshd can start nothing else. "*" matches no password, but
 * other than "!" it does not lock the account, which sshd would refuse without PAM (auth.c, LOCKED_PASSWD_PREFIX).
 * pam_shells requires a listed shell.
 */
const CREATE = `${CLAIMED}${REMEMBER}
if ! getent passwd "$user" >/dev/null; then
  if getent group "$user" >/dev/null; then groupdel "$user"; fi
  useradd --system --user-group --no-create-home --home-dir /nonexistent --shell "$gate" --comment "$comment" \\
    --password '*' "$user" || fail "useradd ended with $?"
fi
entry=$(getent passwd "$user") || fail "useradd made no user $user"
case $entry in *:*:0:*) fail "its user $user has the uid 0" ;; esac
case $entry in "$user:"*":$comment:/nonexistent:$gate") ;; *) fail "its user $user is not as Mayfly makes it: $entry" ;; esac
[ "$(id -Gn "$user")" = "$user" ] || fail "its user $user is in other groups than its own: $(id -Gn "$user")"
if grep -rqs pam_shells /etc/pam.d && ! grep -qxF "$gate" /etc/shells; then
  if [ ! -e "$state/shells" ]; then
    cp -p /etc/shells "$state/shells.new"
    mv "$state/shells.new" "$state/shells"
  fi
  cp -p /etc/shells /etc/shells.mayfly-new
  if [ -n "$(tail -c 1 /etc/shells)" ]; then echo >>/etc/shells.mayfly-new; fi
  echo "$gate" >>/etc/shells.mayfly-new
  mv -f /etc/shells.mayfly-new /etc/shells
fi
`;

/** Script that kills the user's processes, but not those in containers, where the uid is another user's. */
const END_PROCESSES = `
uid=$(id -u "$user" 2>/dev/null) || uid=
for round in 1 2 3 4 5 6 7 8 9 10; do
  [ -n "$uid" ] || break
  left=
  for process in /proc/[0-9]*; do
    [ "$(stat -c %u "$process" 2>/dev/null)" = "$uid" ] || continue
    [ "$(readlink "$process/ns/pid" 2>/dev/null)" = "$(readlink /proc/self/ns/pid)" ] || continue
    left="$left \${process#/proc/}"
  done
  [ -n "$left" ] || break
  kill -KILL $left 2>/dev/null || :
  [ "$round" -lt 10 ] || fail "processes of $user do not end:$left"
  [ "$round" -eq 1 ] || sleep 1
done
`;

const REMOVE = `${ONLY_OURS}
[ -e "$state/accounts" ] || exit 0
if getent passwd "$user" >/dev/null; then
  ${END_PROCESSES}
  userdel "$user" || fail "userdel ended with $?"
fi
if getent group "$user" >/dev/null; then groupdel "$user" || fail "groupdel ended with $?"; fi
for file in passwd group shadow gshadow; do
  if [ -e "/etc/$file" ] && [ "$(sha256sum <"/etc/$file" | cut -d ' ' -f 1)" = "$(cat "$state/accounts/$file.digest" 2>/dev/null)" ]; then
    if [ -e "$state/accounts/$file" ]; then cp -p "$state/accounts/$file" "/etc/$file-"; else rm -f "/etc/$file-"; fi
  elif [ -e "/etc/$file-" ]; then
    cp -p "/etc/$file-" "/etc/$file-.mayfly-new"
    sed "/^$user:/d" "/etc/$file-" >"/etc/$file-.mayfly-new"
    mv -f "/etc/$file-.mayfly-new" "/etc/$file-"
  fi
done
[ -e "$state/accounts/pwd.lock" ] || rm -f /etc/.pwd.lock
if [ -e /etc/shells ] && grep -qxF "$gate" /etc/shells; then
  cp -p /etc/shells /etc/shells.mayfly-new
  grep -vxF "$gate" /etc/shells >/etc/shells.mayfly-new || :
  if [ -e "$state/shells" ] && [ "$(cat /etc/shells.mayfly-new)" = "$(cat "$state/shells")" ]; then
    cat "$state/shells" >/etc/shells.mayfly-new
  fi
  mv -f /etc/shells.mayfly-new /etc/shells
fi
rm -rf "$state/accounts" "$state/shells" "$state/shells.new"
if getent passwd "$user" >/dev/null || getent group "$user" >/dev/null; then fail "the user $user is still there"; fi
`;

/** Creates the read-only user. A repeat verifies the existing one. @throws MayflyError prepare_failed */
export async function createReader(console: SourceConsole, sourceId: string, signal: AbortSignal): Promise<void> {
  await runScript(console, CREATE, [sourceId], { signal });
}

/** Ends the user's sessions and removes it; account files without other changes are restored to the byte. */
export async function removeReader(console: SourceConsole, sourceId: string): Promise<void> {
  await runScript(console, REMOVE, [sourceId]);
}
