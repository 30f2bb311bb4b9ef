import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { MayflyError } from '../../model/errors.ts';
import { runScript, type SourceConsole } from '../console.ts';
import { CLAIMED, LAYOUT, LAYOUT_VARIABLES, ONLY_OURS } from './layout.ts';

/** Built program that stands between a caller and a source. */
export interface Gate {
  bytes: Buffer;
  /** SHA-256, hex. */
  digest: string;
}

/** @throws Error when the file is missing */
export async function readGate(path: string): Promise<Gate> {
  const bytes = await readFile(path);
  return { bytes, digest: createHash('sha256').update(bytes).digest('hex') };
}

/** Script that makes the folder with the undo data: the first of all changes, and the last to be removed. */
const CLAIM = `${LAYOUT_VARIABLES}
if [ -e "$state/owner" ]; then
  [ "$(cat "$state/owner")" = "$1" ] || fail 'another Mayfly has prepared it meanwhile'
  exit 0
fi
mkdir -p -m 0700 "$state"
printf '%s\\n' "$1" >"$state/owner.new"
mv -f "$state/owner.new" "$state/owner"
`;

const RELEASE = `${LAYOUT_VARIABLES}
[ -d "$state" ] || exit 0
if [ -e "$state/owner" ] && [ "$(cat "$state/owner")" != "$1" ]; then exit 0; fi
rm -rf "$state/accounts" "$state/accounts.new" "$state/shells" "$state/config" "$state/config.before" "$state/shells.new" "$state/owner.new" "$state/reloaded"
rm -f "$state/owner"
rmdir "$state" || fail "$state holds something that Mayfly did not put there"
`;

/** Script that prints the digest of an installed gate with the right owner and mode. */
const INSTALLED = `${CLAIMED}
mkdir -p -m 0755 "$gateFolder"
if [ "$(stat -c '%a %u %g %F' "$gate" 2>/dev/null)" = '755 0 0 regular file' ]; then sha256sum <"$gate" | cut -d ' ' -f 1; fi
`;

/** Script that installs the gate. $2: its expected digest. */
const PUT_IN_PLACE = `${CLAIMED}
chown 0:0 "$gate.new"
chmod 0755 "$gate.new"
found=$(sha256sum <"$gate.new" | cut -d ' ' -f 1)
if [ "$found" != "$2" ]; then
  rm -f "$gate.new"
  fail "the gate arrived changed: its SHA-256 is $found, not $2"
fi
mv -f "$gate.new" "$gate"
if command -v restorecon >/dev/null; then restorecon "$gate" || fail 'restorecon cannot label the gate for SELinux'; fi
`;

const REMOVE = `${ONLY_OURS}
rm -f "$gate" "$gate.new"
if [ -d "$gateFolder" ]; then rmdir "$gateFolder" || fail "$gateFolder holds something that Mayfly did not put there"; fi
`;

export async function claimSource(console: SourceConsole, sourceId: string, signal: AbortSignal): Promise<void> {
  await runScript(console, CLAIM, [sourceId], { signal });
}

export async function releaseSource(console: SourceConsole, sourceId: string): Promise<void> {
  await runScript(console, RELEASE, [sourceId]);
}

/**
 * Installs the gate unless this very one is there: atomically, after its digest was compared on the source.
 * @throws MayflyError prepare_failed
 */
export async function installGate(
  console: SourceConsole,
  sourceId: string,
  gate: Gate,
  signal: AbortSignal,
): Promise<void> {
  const installed = () => runScript(console, INSTALLED, [sourceId], { signal });
  if ((await installed()).trim() === gate.digest) return;
  await console.writeFile(`${LAYOUT.gate}.new`, gate.bytes, signal);
  await runScript(console, PUT_IN_PLACE, [sourceId, gate.digest], { signal });
  if ((await installed()).trim() !== gate.digest) {
    throw new MayflyError('prepare_failed', `${LAYOUT.gate} is not the gate that was just put there.`);
  }
}

export async function removeGate(console: SourceConsole, sourceId: string): Promise<void> {
  await runScript(console, REMOVE, [sourceId]);
}
