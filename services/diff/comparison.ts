import type { ApiKey } from '../../model/access/api-key.ts';
import { MayflyError } from '../../model/errors.ts';
import { percentEncode } from '../../model/files/file-path.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { grants } from '../../model/scopes.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { recordAccess } from '../audit/record-access.ts';
import { toGuestError } from '../guests.ts';
import { requireSnapshot, type ServiceDeps } from '../service-deps.ts';
import { EphemeralSnapshot } from '../snapshots/ephemeral-snapshot.ts';
import type { WaitLimit } from '../waiting.ts';

/** Name of the present state of a sandbox, used instead of a snapshot id. */
export const CURRENT = 'current';

type Deps = Pick<ServiceDeps, 'store' | 'sagas' | 'guests' | 'logger'>;

interface ComparisonRequest {
  /** Snapshot id. */
  a: string;
  /** Snapshot id, or {@link CURRENT}. */
  b: string;
  format: 'json' | 'ndjson' | 'tar' | 'file';
  /** Path of a file, or of folders. */
  paths: Uint8Array[];
}

interface ComparisonCaller extends Omit<WaitLimit, 'seconds'> {
  key: Pick<ApiKey, 'id' | 'scopes'>;
  actor: Actor;
}

/** Two comparable states on one host. `close` releases the ephemeral snapshot. */
export class Comparison {
  private constructor(
    private readonly deps: Deps,
    private readonly signal: AbortSignal,
    readonly before: SnapshotRecord,
    readonly after: SnapshotRecord,
    private readonly passing: EphemeralSnapshot | null,
  ) {}

  /**
   * Records the comparison in the audit before it reads anything.
   * @throws MayflyError snapshot_not_found, snapshot_not_ready, invalid_request (two hosts), forbidden, and what
   *   {@link EphemeralSnapshot.take} throws
   */
  static async begin(
    deps: Deps,
    { key, actor, signal, requestId }: ComparisonCaller,
    question: ComparisonRequest,
  ): Promise<Comparison> {
    const { a, b } = question;
    const before = assertReady(await requireSnapshot(deps, a));
    if (b === CURRENT && !grants(key.scopes, 'sandboxes:write')) {
      const why = `The API key ${key.id} lacks the scope \`sandboxes:write\`, and what is current is seen by a snapshot.`;
      throw new MayflyError('forbidden', why);
    }
    const other = b === CURRENT ? null : assertReady(await requireSnapshot(deps, b));
    if (other && other.hostId !== before.hostId) throw hostMismatch(before, other);
    await recordComparison(deps, actor, question, before, other);
    const passing = other ? null : await EphemeralSnapshot.take(deps, before.sandboxId, actor, { signal, requestId });
    return new Comparison(deps, signal, before, other ?? passing?.record ?? before, passing);
  }

  /** Returns the host's response. @throws MayflyError of the host */
  async ask(what: 'changes' | 'tar' | 'file', name: 'within' | 'path', paths: Uint8Array[]): Promise<Response> {
    const { before, after, deps, signal } = this;
    const query = new URLSearchParams(
      paths.map((path): [string, string] => [name, Buffer.from(path).toString('base64url')]),
    );
    const target = `/snapshots/${before.id}/${what}/${after.id}?${query.toString()}`;
    const response = await deps.guests.request(before.hostId, target, { signal });
    if (response.ok) return response;
    throw await toGuestError(response);
  }

  /** Both states, in the form of the API. */
  get sides() {
    return { before: sideOf(this.before, false), after: sideOf(this.after, this.passing !== null) };
  }

  async close(): Promise<void> {
    await this.passing?.release();
  }
}

function sideOf({ id, sandboxId, saved, createdAt }: SnapshotRecord, isCurrent: boolean) {
  return { snapshotId: isCurrent ? null : id, sandboxId, savedAt: saved?.savedAt ?? createdAt };
}

function assertReady(record: SnapshotRecord): SnapshotRecord {
  if (record.state === 'ready') return record;
  throw new MayflyError('snapshot_not_ready', `The snapshot ${record.id} is ${record.state}.`);
}

function hostMismatch(a: SnapshotRecord, b: SnapshotRecord): MayflyError {
  const problem = `is on host ${b.hostId}, and ${a.id} on host ${a.hostId}: only snapshots of one host can be compared`;
  return new MayflyError('invalid_request', `${b.id} ${problem}.`, { fields: [{ field: 'b', problem }] });
}

async function recordComparison(
  deps: Deps,
  actor: Actor,
  { format, paths }: ComparisonRequest,
  before: SnapshotRecord,
  after: SnapshotRecord | null,
): Promise<void> {
  const detail = { before: before.id, after: after?.id ?? CURRENT, format, paths: paths.map(percentEncode) };
  for (const sandboxId of new Set([before.sandboxId, after?.sandboxId ?? before.sandboxId])) {
    await recordAccess(deps, sandboxId, { kind: 'snapshot.compared', actor, hostId: before.hostId, detail });
  }
}
