import { createHash } from 'node:crypto';
import { acceptedSpec } from '../../activities/function/accepted-version.ts';
import { mayHaveStarted } from '../../model/functions/command-end.ts';
import type { FunctionSpec } from '../../model/functions/function.ts';
import { deriveAttemptIds, type RunRecord } from '../../model/functions/run.ts';
import type { LogFacts, ProofFacts, ReceiptFacts } from '../../model/receipts/statement.ts';
import type { CommandRecord, OutputStream } from '../../model/sandbox/command.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { canonicalJson } from '../../store/audit/canonical-json.ts';
import type { Store } from '../../store/connect.ts';
import { eventOfRun } from '../../store/functions/run-event.ts';

/** Maximum number of a run's sandboxes; one that waits days for room creates one every half minute. */
const MOST_SANDBOXES = 50;
/** Bytes of output per read. */
const PIECE_BYTES = 1_048_576;
/** Number of last entries of a chain that are read: events after the end of a run are not part of it. */
const LAST_ENTRIES = 50;

/** Collects the facts of a run that has ended and is cleaned up. Reads contents in small pieces. */
export async function receiptFacts(store: Store, run: RunRecord, builder: string): Promise<ReceiptFacts> {
  const sandboxes = await sandboxesOf(store, run);
  const spec = resolveSpec(await acceptedSpec(store, run), sandboxes.at(-1));
  return {
    run,
    eventDigest: await eventDigestOf(store, run),
    spec,
    disks: spec ? await disksOf(store, spec, sandboxes.at(-1)) : {},
    logs: await logsOf(store, run),
    proofs: sandboxes.flatMap(proofOf),
    diffDigest: run.diff?.digest ?? null,
    auditHead: await auditHeadOf(store, run.id),
    builder,
  };
}

async function eventDigestOf(store: Store, run: RunRecord): Promise<string | null> {
  const event = await eventOfRun(store, run);
  return event && sha256(event);
}

/** Returns the run's sandboxes by creation time, including claimed pool members. */
async function sandboxesOf({ sandboxes }: Store, { id, tries, members = [] }: RunRecord): Promise<SandboxRecord[]> {
  const first = Math.max(1, tries - MOST_SANDBOXES + 1);
  const own = Array.from({ length: tries - first + 1 }, (_, n) => deriveAttemptIds(id, first + n).sandboxId);
  const found = await Promise.all([...own, ...members.slice(-MOST_SANDBOXES)].map((each) => sandboxes.get(each)));
  return found.filter((each) => each !== null).sort((a, b) => a.createdAt.localeCompare(b.createdAt));
}

function proofOf({ id: sandboxId, proof }: SandboxRecord): ProofFacts[] {
  if (!proof) return [];
  const { provedAt, unproved = null } = proof;
  return [{ sandboxId, digest: sha256(canonicalJson(proof)), provedAt, unproved }];
}

/** Returns the spec; with a setup, the sandbox's record names the setup's snapshot. */
function resolveSpec(spec: FunctionSpec | null, sandbox: SandboxRecord | undefined): ReceiptFacts['spec'] {
  if (!spec?.setup) return spec;
  return { ...spec, source: spec.setup.source, snapshotId: sandbox?.spec.snapshotId ?? null };
}

async function disksOf(
  { hosts, snapshots }: Store,
  { source, snapshotId }: NonNullable<ReceiptFacts['spec']>,
  sandbox: SandboxRecord | undefined,
): Promise<Record<string, string>> {
  if (snapshotId !== null) {
    const disks = (await snapshots.get(snapshotId))?.saved?.disks ?? [];
    return Object.fromEntries(disks.map(({ target, sha256: digest }) => [target, digest]));
  }
  const host = (await hosts.list()).find(({ id }) => id === sandbox?.hostId);
  const content = host?.sources.find(({ name }) => name === source)?.content;
  return content ? { '': content } : {};
}

async function logsOf(store: Store, { attempts }: RunRecord): Promise<ReceiptFacts['logs']> {
  const logs: ReceiptFacts['logs'] = [];
  for (const { n, commandId } of attempts) {
    const command = await store.commands.get(commandId);
    if (!command || !mayHaveStarted(command)) continue;
    const [stdout, stderr] = [await logOf(store, command, 'stdout'), await logOf(store, command, 'stderr')];
    logs.push({ n, streams: { stdout, stderr } });
  }
  return logs;
}

async function logOf({ output }: Store, { id, ...command }: CommandRecord, stream: OutputStream): Promise<LogFacts> {
  const hash = createHash('sha256');
  let kept = 0;
  for (;;) {
    const piece = await output.read(id, stream, kept, PIECE_BYTES);
    if (piece.length === 0) break;
    hash.update(piece);
    kept += piece.length;
  }
  return { digest: hash.digest('hex'), bytes: command[stream].bytes, kept };
}

/** Returns the head up to the run's last event; later entries are not part of it. */
async function auditHeadOf({ audit }: Store, runId: string): Promise<ReceiptFacts['auditHead']> {
  const head = await audit.head(runId);
  if (!head) return null;
  const after = Math.max(-1, head.count - LAST_ENTRIES - 1);
  const entries = await audit.entries(runId, { after, limit: LAST_ENTRIES });
  const last = entries.findLast(({ body }) => body.includes(`"eventId":"${runId}/run.cleaned"`)) ?? entries.at(-1);
  return last ? { entries: last.seq + 1, hash: last.hash } : null;
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
