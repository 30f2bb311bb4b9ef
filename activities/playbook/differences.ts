import type { HostSnapshots } from '../../host/snapshots.ts';
import type { StepContext } from '../../host/step-context.ts';
import { MayflyError } from '../../model/errors.ts';
import type { FileChange, GuestName } from '../../model/files/file-change.ts';
import { toGuestNameBytes } from '../../model/files/guest-name.ts';
import { LIMITS } from '../../model/limits.ts';
import { keyOf } from '../../model/playbook/change/change.ts';
import { isNoise } from '../../model/playbook/change/noise.ts';

export type ComparedSnapshots = Pick<HostSnapshots, 'compare' | 'readFile' | 'namesIn' | 'changesAsTar'>;

export interface Sides {
  before: string;
  after: string;
}

export interface Differences {
  /** Changes by key; a path that was removed and replaced by another type has both. */
  changes: Map<string, FileChange[]>;
  /** Keys that differ, but belong in no playbook. */
  ignored: Set<string>;
  noise: number;
}

/**
 * Returns the differences between two snapshots, without noise and mere changes of time.
 * @throws MayflyError playbook_failed: too many
 */
export async function differencesOf(
  snapshots: Pick<HostSnapshots, 'compare'>,
  sides: Sides,
  context: StepContext,
): Promise<Differences> {
  const found: Differences = { changes: new Map(), ignored: new Set(), noise: 0 };
  let count = 0;
  for await (const record of snapshots.compare({ ...sides, within: [] }, context.signal)) {
    if (record.line === 'end') return found;
    if (++count > LIMITS.playbook.changes) {
      throw new MayflyError('playbook_failed', `More than ${LIMITS.playbook.changes} files differ.`);
    }
    if (count % 1_000 === 0) context.alive(`${count} differences`);
    const key = keyOf(record.path);
    const names = [record.path, record.from].filter((name) => name !== null);
    if (record.path === '/' || names.every(isIgnored) || isOfTimeAlone(record)) {
      found.ignored.add(key);
      if (!isOfTimeAlone(record)) found.noise += 1;
    } else found.changes.set(key, [...(found.changes.get(key) ?? []), record]);
  }
  throw new MayflyError('diff_failed', 'The comparison ended before its end.');
}

function isIgnored(name: GuestName): boolean {
  return isNoise(toGuestNameBytes(name).toString('latin1'));
}

function isOfTimeAlone({ change, what, type }: FileChange): boolean {
  return type === 'socket' || (change === 'changed' && what.every((aspect) => aspect === 'mtime'));
}
