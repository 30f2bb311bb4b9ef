import { nullIf } from '../../host/os/absent.ts';
import type { HostSnapshots } from '../../host/snapshots.ts';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { SystemFiles } from '../../model/playbook/change/change.ts';

/** Limit of one file, bytes: dpkg's status of a Debian with all packages is 60 MiB. */
const MAX_BYTES = 67_108_864;

const PLACES: Record<keyof SystemFiles, string> = {
  status: '/var/lib/dpkg/status',
  extended: '/var/lib/apt/extended_states',
  passwd: '/etc/passwd',
  group: '/etc/group',
  shadow: '/etc/shadow',
};

/** Reads the system's own records in a snapshot; '' for absent ones. */
export async function systemTexts(
  snapshots: Pick<HostSnapshots, 'readFile'>,
  snapshotId: string,
  signal: AbortSignal,
): Promise<SystemFiles> {
  const texts: SystemFiles = { status: '', extended: '', passwd: '', group: '', shadow: '' };
  for (const name of Object.keys(PLACES) as (keyof SystemFiles)[]) {
    texts[name] = await textOf(snapshots, snapshotId, PLACES[name], signal);
  }
  return texts;
}

/** Returns a file; '' when absent. @throws MayflyError playbook_failed: too long */
export async function textOf(
  snapshots: Pick<HostSnapshots, 'readFile'>,
  snapshotId: string,
  path: string,
  signal: AbortSignal,
): Promise<string> {
  const read = await orNone(snapshots.readFile({ snapshotId, path, maxBytes: MAX_BYTES }, signal));
  if (read === null) return '';
  if (read.size <= MAX_BYTES) return read.content.toString('utf8');
  throw new MayflyError('playbook_failed', `${path} is ${read.size} bytes long: it is not read.`);
}

/** Returns the names in a folder, without those that are not UTF-8; none when the folder is absent. */
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
  return nullIf(reading, (error) => isMayflyError(error, 'file_not_found') || isMayflyError(error, 'file_conflict'));
}
