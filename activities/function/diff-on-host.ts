import { createHash } from 'node:crypto';
import type { HostSnapshots } from '../../host/snapshots.ts';
import { MayflyError } from '../../model/errors.ts';
import type { FileChangeCounts } from '../../model/files/file-change.ts';
import type { RunDiff, RunRecord } from '../../model/functions/run.ts';
import { deriveDiffSnapshotId } from '../../model/functions/traces.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Mask } from '../../model/secrets/mask.ts';
import type { Store } from '../../store/connect.ts';
import { stepContext } from '../step/step-context.ts';

interface Place {
  snapshots: Pick<HostSnapshots, 'compare'>;
  runContents: Pick<Store, 'runContents'>['runContents'];
  /** Mask of names, link targets and attributes; null: no secrets. */
  mask: Mask | null;
}

/**
 * Compares the two snapshots of an attempt and stores the differences, as JSON lines like a sandbox's diff, the counts
 * last.
 * @throws MayflyError diff_failed, also when the list is too large
 */
export async function storeDiff(
  { snapshots, runContents, mask }: Place,
  run: RunRecord,
  sandboxId: string,
): Promise<RunDiff> {
  const context = stepContext();
  const [before, after] = [deriveDiffSnapshotId(sandboxId, 'before'), deriveDiffSnapshotId(sandboxId, 'after')];
  const { diffBytes: most } = LIMITS.functions;
  const lines: Buffer[] = [];
  let [bytes, counts]: [number, FileChangeCounts | null] = [0, null];
  for await (const record of snapshots.compare({ before, after, within: [] }, context.signal)) {
    const line = Buffer.from(`${JSON.stringify(mask ? maskRecord(record, mask) : record)}\n`);
    bytes += line.length;
    if (bytes > most) throw new MayflyError('diff_failed', `The list of what was changed has more than ${most} bytes.`);
    lines.push(line);
    if (lines.length % 1_000 === 0) context.alive(`${lines.length} changes`);
    if (record.line === 'end')
      counts = { added: record.added, changed: record.changed, removed: record.removed, renamed: record.renamed };
  }
  if (!counts) throw new MayflyError('diff_failed', 'The comparison ended before its end.');
  const content = Buffer.concat(lines);
  await runContents.put(run.id, 'diff', content);
  return { bytes, digest: createHash('sha256').update(content).digest('hex'), counts, failure: null };
}

function maskRecord(value: unknown, mask: Mask): unknown {
  if (typeof value === 'string') return mask.text(value);
  if (Array.isArray(value)) return value.map((each: unknown) => maskRecord(each, mask));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, maskRecord(each, mask)]));
}
