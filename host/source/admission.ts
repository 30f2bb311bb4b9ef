import { MayflyError } from '../../model/errors.ts';
import type { SourceInspection } from '../../model/snapshots/source-access.ts';
import { runScript, type SourceConsole, toPrintable } from '../console.ts';
import { LISTENER, OTHERS } from './inspection.ts';
import { CLAIMED, LAYOUT, ONLY_OURS } from './layout.ts';

/**
 * Settings for our user alone: every keyword here may stand in a Match block (sshd_config(5)), where it overrides the
 * global value, AllowUsers and TrustedUserCAKeys included, and affects no other user.
 */
const SETTINGS: readonly [string, string][] = [
  ['AllowUsers', LAYOUT.user],
  ['AllowGroups', LAYOUT.user],
  ['PubkeyAuthentication', 'yes'],
  ['AuthenticationMethods', 'publickey'],
  ['PasswordAuthentication', 'no'],
  ['KbdInteractiveAuthentication', 'no'],
  ['HostbasedAuthentication', 'no'],
  ['AuthorizedKeysFile', 'none'],
  ['AuthorizedKeysCommand', 'none'],
  ['TrustedUserCAKeys', LAYOUT.userCa],
  ['AuthorizedPrincipalsFile', LAYOUT.principals],
  ['AuthorizedPrincipalsCommand', 'none'],
  ['ForceCommand', LAYOUT.gate],
  ['ChrootDirectory', 'none'],
  ['DisableForwarding', 'yes'],
  ['AllowTcpForwarding', 'no'],
  ['AllowStreamLocalForwarding', 'no'],
  ['AllowAgentForwarding', 'no'],
  ['X11Forwarding', 'no'],
  ['PermitTunnel', 'no'],
  ['PermitTTY', 'no'],
  ['PermitUserRC', 'no'],
  ['Banner', 'none'],
  ['MaxSessions', '16'],
];

const BEGIN = '# BEGIN mayfly-source: made by Mayfly, taken away by `mayfly source unprepare`';
const END = '# END mayfly-source';
const MATCH_BLOCK = [`Match User ${LAYOUT.user}`, ...SETTINGS.map(([name, value]) => `  ${name} ${value}`)].join('\n');

/**
 * Script that adds the settings: a file before all others of its folder, so its settings win; Match does not reach out
 * of an included file. Without such a folder, a block at the end, which also ends a Match block that stands last.
 * Behind it, `Match all` for lines appended later, unless they would have belonged to another Match block anyway.
 */
const ADMIT = `${CLAIMED}
sshd=$(command -v sshd)
config=$(readlink -f "$config")
if [ "$2" = drop-in ]; then
  printf '%s\\n' "$3" >"$dropIn.new"
  chmod 0600 "$dropIn.new"
  mv -f "$dropIn.new" "$dropIn"
  undo() { rm -f "$dropIn"; }
else
  cp -p "$config" "$state/config.before"
  cp -p "$config" "$config.mayfly-new"
  if grep -qxF "$4" "$config"; then
    sed '/^# BEGIN mayfly-source/,/^# END mayfly-source/d' "$state/config.before" >"$config.mayfly-new"
  else
    mv -f "$state/config.before" "$state/config"
    cp -p "$state/config" "$state/config.before"
  fi
  matches=$(grep -ci '^[[:space:]]*match[[:space:]=]' "$config.mayfly-new") || :
  if [ -n "$(tail -c 1 "$config.mayfly-new")" ]; then echo >>"$config.mayfly-new"; fi
  printf '%s\\n%s\\n' "$4" "$3" >>"$config.mayfly-new"
  if [ "$matches" = 0 ]; then echo 'Match all' >>"$config.mayfly-new"; fi
  printf '%s\\n' "$5" >>"$config.mayfly-new"
  mv -f "$config.mayfly-new" "$config"
  undo() { cp -p "$state/config.before" "$config.mayfly-new"; mv -f "$config.mayfly-new" "$config"; }
fi
if ! said=$("$sshd" -t 2>&1); then
  undo
  fail "sshd -t refuses the settings: $said"
fi
rm -f "$state/config.before"
`;

/** Script that prints sshd's new settings for our user; its first line is the digest of those for other users. */
const EFFECTIVE = `${CLAIMED}${OTHERS}
sshd=$(command -v sshd)
echo "$(others)"
"$sshd" -T -C "user=$user,host=mayfly,addr=192.0.2.1,laddr=192.0.2.2,lport=22"
`;

/** Script that reloads and never restarts, so sessions stay. A socket-activated sshd needs no reload. */
const RELOAD = `${LISTENER}
reload() {
  if [ -d /run/systemd/system ]; then
    for unit in ssh.service sshd.service; do
      if systemctl is-active --quiet "$unit" && systemctl reload "$unit"; then return; fi
    done
  fi
  running=$(listener)
  if [ -n "$running" ]; then kill -HUP "$running"; fi
}
`;

const APPLY = `${CLAIMED}${RELOAD}
sshd=$(command -v sshd)
said=$("$sshd" -t 2>&1) || fail "sshd -t: $said"
: >"$state/reloaded"
reload
`;

/** Script that restores the file byte for byte; if it was changed since, removes only our lines. $2, $3: the marks. */
const EXCLUDE = `${ONLY_OURS}${RELOAD}
sshd=$(command -v sshd)
config=$(readlink -f "$config")
rm -f "$dropIn" "$dropIn.new" "$config.mayfly-new"
if grep -qxF "$2" "$config"; then
  cp -p "$config" "$config.mayfly-new"
  sed "/^# BEGIN mayfly-source/,/^# END mayfly-source/d" "$config" >"$config.mayfly-new"
  if [ -e "$state/config" ] && [ "$(cat "$config.mayfly-new")" = "$(cat "$state/config")" ]; then
    cat "$state/config" >"$config.mayfly-new"
  fi
  mv -f "$config.mayfly-new" "$config"
fi
rm -f "$state/config" "$state/config.before"
if [ -e "$state/reloaded" ]; then
  said=$("$sshd" -t 2>&1) || fail "its sshd_config is not valid, so sshd was not told to read it again: $said"
  reload
  rm -f "$state/reloaded"
fi
`;

/**
 * Admits our user, without effect on others. sshd is reloaded only after it has validated its settings and has shown
 * that they are in effect for our user, and unchanged for others.
 * @throws MayflyError prepare_failed; the running sshd is unaffected then
 */
export async function addSshdSettings(
  console: SourceConsole,
  sourceId: string,
  inspection: SourceInspection,
  signal: AbortSignal,
): Promise<void> {
  await runScript(console, ADMIT, [sourceId, inspection.placement, MATCH_BLOCK, BEGIN, END], { signal });
  const [others = '', ...effective] = (await runScript(console, EFFECTIVE, [sourceId], { signal })).split('\n');
  if (others !== inspection.othersDigest) {
    throw new MayflyError('prepare_failed', 'sshd would treat its other users differently than before.');
  }
  const overruled = SETTINGS.filter(([name, value]) => !effective.includes(`${name.toLowerCase()} ${value}`));
  if (overruled.length > 0) throw notInEffect(overruled, effective);
  await runScript(console, APPLY, [sourceId], { signal });
}

/** Removes the settings, and reloads sshd if it may have read them. */
export async function removeSshdSettings(console: SourceConsole, sourceId: string): Promise<void> {
  await runScript(console, EXCLUDE, [sourceId, BEGIN]);
}

function notInEffect(overruled: readonly [string, string][], effective: readonly string[]): MayflyError {
  const found = overruled.map(([name]) => {
    const line = effective.find((text) => text.startsWith(`${name.toLowerCase()} `));
    return toPrintable(line ?? `no ${name}`);
  });
  return new MayflyError(
    'prepare_failed',
    `An earlier part of its sshd_config decides for ${LAYOUT.user}: ${found.join(', ')}. ` +
      'Move that Match block behind the others, or exclude the user from it.',
  );
}
