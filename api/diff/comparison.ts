import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { percentEncode } from '../../model/files/file-path.ts';
import { grants } from '../../model/scopes.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { refusalOf } from '../../services/guests.ts';
import { requireSnapshot } from '../../services/require.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { recordAccess } from '../resources/record-access.ts';
import { EphemeralSnapshot } from '../snapshots/ephemeral-snapshot.ts';
import { CURRENT } from './diff-schemas.ts';

/** How it is asked for, in the audit. */
interface Question {
  format: 'json' | 'ndjson' | 'tar' | 'file';
  /** A file, or folders. */
  paths: Uint8Array[];
}

/** Two states that can be compared, on one host, until it is closed. */
export class Comparison {
  private constructor(
    private readonly deps: RequestDeps,
    private readonly signal: AbortSignal,
    readonly before: SnapshotRecord,
    readonly after: SnapshotRecord,
    private readonly passing: EphemeralSnapshot | null,
  ) {}

  /**
   * Told to the audit before anything is read.
   * @param b a snapshot id, or `current`
   * @throws MayflyError snapshot_not_found, snapshot_not_ready, invalid_request (two hosts), forbidden, and what
   * {@link EphemeralSnapshot.take} throws
   */
  static async begin(
    c: Context<Env>,
    deps: RequestDeps,
    a: string,
    b: string,
    question: Question,
  ): Promise<Comparison> {
    const before = readyOne(await requireSnapshot(deps, a));
    if (b === CURRENT) {
      const { id, scopes } = c.get('apiKey');
      if (!grants(scopes, 'sandboxes:write')) {
        const why = `The API key ${id} lacks the scope \`sandboxes:write\`, and what is current is seen by a snapshot.`;
        throw new MayflyError('forbidden', why);
      }
    }
    const other = b === CURRENT ? null : readyOne(await requireSnapshot(deps, b));
    if (other && other.hostId !== before.hostId) throw onTwoHosts(before, other);
    await recordComparison(c, deps, question, before, other);
    const passing = other ? null : await EphemeralSnapshot.take(c, deps, before.sandboxId);
    return new Comparison(deps, c.req.raw.signal, before, other ?? passing?.record ?? before, passing);
  }

  /**
   * Asks the host, and returns what it answers. Ends when the caller goes away.
   * @throws MayflyError what the host refuses with
   */
  async ask(what: 'changes' | 'tar' | 'file', name: 'within' | 'path', paths: Uint8Array[]): Promise<Response> {
    const { before, after, deps, signal } = this;
    const query = new URLSearchParams(paths.map((path): [string, string] => [name, base64url(path)]));
    const target = `/snapshots/${before.id}/${what}/${after.id}?${query.toString()}`;
    const response = await deps.guests.request(before.hostId, target, { signal });
    if (response.ok) return response;
    throw await refusalOf(response);
  }

  /** The states, as a caller knows them. */
  get sides() {
    return { before: sideOf(this.before, false), after: sideOf(this.after, this.passing !== null) };
  }

  async close(): Promise<void> {
    await this.passing?.release();
  }
}

function base64url(path: Uint8Array): string {
  return Buffer.from(path).toString('base64url');
}

function sideOf({ id, sandboxId, saved, createdAt }: SnapshotRecord, isCurrent: boolean) {
  return { snapshotId: isCurrent ? null : id, sandboxId, savedAt: saved?.savedAt ?? createdAt };
}

function readyOne(record: SnapshotRecord): SnapshotRecord {
  if (record.state === 'ready') return record;
  throw new MayflyError('snapshot_not_ready', `The snapshot ${record.id} is ${record.state}.`);
}

function onTwoHosts(a: SnapshotRecord, b: SnapshotRecord): MayflyError {
  const problem = `is on host ${b.hostId}, and ${a.id} on host ${a.hostId}: only snapshots of one host can be compared`;
  return new MayflyError('invalid_request', `${b.id} ${problem}.`, { fields: [{ field: 'b', problem }] });
}

async function recordComparison(
  c: Context<Env>,
  deps: RequestDeps,
  { format, paths }: Question,
  before: SnapshotRecord,
  after: SnapshotRecord | null,
): Promise<void> {
  const detail = { before: before.id, after: after?.id ?? CURRENT, format, paths: paths.map(percentEncode) };
  for (const sandboxId of new Set([before.sandboxId, after?.sandboxId ?? before.sandboxId])) {
    await recordAccess(c, deps, sandboxId, { kind: 'snapshot.compared', hostId: before.hostId, detail });
  }
}
