import { orNull } from '../../host/os/absent.ts';
import type { HostSnapshots } from '../../host/snapshots.ts';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { SystemTexts } from '../../model/playbook/change/change.ts';

/** Of one file, bytes: dpkg's record of a Debian with everything is 60 MiB. */
const MOST = 67_108_864;

const PLACES: Record<keyof SystemTexts, string> = {
  status: '/var/lib/dpkg/status',
  extended: '/var/lib/apt/extended_states',
  passwd: '/etc/passwd',
  group: '/etc/group',
  shadow: '/etc/shadow',
};

/** What the system in a snapshot says of itself; '' for what is not there. */
export async function systemTexts(
  snapshots: Pick<HostSnapshots, 'readFile'>,
  snapshotId: string,
  signal: AbortSignal,
): Promise<SystemTexts> {
  const texts: SystemTexts = { status: '', extended: '', passwd: '', group: '', shadow: '' };
  for (const name of Object.keys(PLACES) as (keyof SystemTexts)[]) {
    texts[name] = await textOf(snapshots, snapshotId, PLACES[name], signal);
  }
  return texts;
}

/** '' where there is no such file. @throws MayflyError playbook_failed: it is too long */
export async function textOf(
  snapshots: Pick<HostSnapshots, 'readFile'>,
  snapshotId: string,
  path: string,
  signal: AbortSignal,
): Promise<string> {
  const read = await orNone(snapshots.readFile({ snapshotId, path, maxBytes: MOST }, signal));
  if (read === null) return '';
  if (read.size <= MOST) return read.content.toString('utf8');
  throw new MayflyError('playbook_failed', `${path} is ${read.size} bytes long: it is not read.`);
}

/** Those in a folder, of which the ones that are not UTF-8 are left out; none where there is no such folder. */
export async function namesIn(
  snapshots: Pick<HostSnapshots, 'namesIn'>,
  snapshotId: string,
  path: string,
  signal: AbortSignal,
): Promise<string[]> {
  const names = (await orNone(snapshots.namesIn({ snapshotId, path }, signal))) ?? [];
  return names.filter((name) => typeof name === 'string');
}

function orNone<T>(reading: Promise<T>): Promise<T | null> {
  return orNull(reading, (error) => isMayflyError(error, 'file_not_found') || isMayflyError(error, 'file_conflict'));
}
