import type { Snapshot } from '../../clients/typescript/http/openapi.ts';
import { type Io, printable, recordLines } from '../terminal/io.ts';
import { failureFields } from '../terminal/remedies.ts';

/** Powers of 1024, as IEC 80000-13 names them. */
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Formats bytes for a person: `512 B`, `1.5 GiB`. */
export function size(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1_024 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${UNITS[power] ?? ''}`;
}

const WHY = {
  requested: null,
  'before-restore': 'what a restore left',
  diff: 'for a comparison, and gone with it',
  setup: 'runs of a function begin with it',
  'failed-run': 'what a failed run left, for as long as its function says',
};

function filesOf({ kind, quiesced }: NonNullable<Snapshot['saved']>): string {
  if (!quiesced) return 'not frozen: as after a power cut';
  return kind === 'full' ? 'written, and processes frozen, while it was taken' : 'frozen while it was taken';
}

/** Formats a snapshot for a person; null fields are left out. */
export function snapshotLines(io: Io, snapshot: Snapshot): string[] {
  const { saved, failure } = snapshot;
  const fields: [string, string | null][] = [
    ['state', snapshot.state],
    ['name', snapshot.name],
    ['of', snapshot.sandboxId],
    ['kind', snapshot.kind],
    ['source', snapshot.source],
    ['host', snapshot.hostId],
    ['parent', snapshot.parentId],
    ['egress', snapshot.network?.egress ?? null],
    ['taken', saved?.savedAt ?? null],
    ['why', WHY[snapshot.reason]],
    ['files', saved && filesOf(saved)],
    ['memory', saved?.memoryBytes ? size(saved.memoryBytes) : null],
    ['takes', saved && `${size(saved.sizeBytes)} on the host`],
    ['kept for', snapshot.keptFor],
    ...failureFields(failure),
  ];
  const digests = saved?.disks.map(({ target, sha256 }) => `  ${target.padEnd(10)}sha256 ${sha256}`) ?? [];
  return [...recordLines(io, snapshot.id, fields), ...digests.map(printable)];
}
