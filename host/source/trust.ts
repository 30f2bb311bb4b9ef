import { createHash } from 'node:crypto';
import { MayflyError } from '../../model/errors.ts';
import { runScript, type SourceConsole } from '../console.ts';
import { CLAIMED, ONLY_OURS } from './layout.ts';

/** Type and base64 alone: no option before it, no comment behind it, no second line. */
const CA_KEY = /^ssh-ed25519 [A-Za-z0-9+/]{68}$/;

/** Script that writes the trust files atomically, for our Match block only. $2: the CA keys, $3: their digest. */
const TRUST = `${CLAIMED}
mkdir -p -m 0755 "$trustFolder"
printf '%s\\n' "$2" >"$userCa.new"
printf '%s\\n' "$1" >"$principals.new"
chmod 0644 "$userCa.new" "$principals.new"
mv -f "$userCa.new" "$userCa"
mv -f "$principals.new" "$principals"
[ "$(sha256sum <"$userCa" | cut -d ' ' -f 1)" = "$3" ] || fail "$userCa is not what was written"
[ "$(cat "$principals")" = "$1" ] || fail "$principals is not what was written"
if command -v restorecon >/dev/null; then restorecon -R "$trustFolder" || fail 'restorecon cannot label the CA keys'; fi
`;

const DISTRUST = `${ONLY_OURS}
rm -f "$userCa" "$userCa.new" "$principals" "$principals.new"
if [ -d "$trustFolder" ]; then rmdir "$trustFolder" || fail "$trustFolder holds something that Mayfly did not put there"; fi
`;

/**
 * Installs our CA's keys and the one principal. Other trust of sshd is in other files, and stays.
 * @param caKeys bare Ed25519 public keys; all of them are replaced when the CA's keys change
 * @throws MayflyError prepare_failed; nothing is written unless each is a bare key
 */
export async function trustUserCa(
  console: SourceConsole,
  sourceId: string,
  caKeys: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const text = checkedCaKeys(caKeys).join('\n');
  const digest = createHash('sha256').update(`${text}\n`).digest('hex');
  await runScript(console, TRUST, [sourceId, text, digest], { signal });
}

export async function distrustUserCa(console: SourceConsole, sourceId: string): Promise<void> {
  await runScript(console, DISTRUST, [sourceId]);
}

/** @throws MayflyError prepare_failed, without quoting the key */
export function checkedCaKeys(caKeys: readonly string[]): readonly string[] {
  if (caKeys.length > 0 && caKeys.every((key) => CA_KEY.test(key))) return caKeys;
  throw new MayflyError('prepare_failed', 'A key of the user CA is not one bare line of an Ed25519 public key.');
}
