import type { Sandbox, SandboxUsage } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { LIMITS } from '../../model/limits.ts';
import { LAYERS } from '../../model/sandbox/layers.ts';
import type { Proof } from '../../model/sandbox/proof.ts';
import type { Boot } from '../../model/sandbox/sandbox.ts';
import { formatSize } from '../../model/snapshots/storage.ts';
import { between, duration } from '../terminal/arguments.ts';
import { type Io, printable, recordLines } from '../terminal/io.ts';
import { failureFields } from '../terminal/remedies.ts';

/** Formats a sandbox for a person; null and empty fields are left out. */
export function sandboxLines(io: Io, record: Sandbox): string[] {
  const { spec, ssh, failure } = record;
  const fields: [string, string | null][] = [
    ['name', record.name],
    ['state', record.phase ? `${record.state} (${record.phase})` : record.state],
    ['source', spec.source],
    ['fork of', spec.snapshotId],
    ['stands on', record.parentSnapshotId === spec.snapshotId ? null : record.parentSnapshotId],
    ['unused', spec.idleSeconds === null ? null : `${spec.onIdle ?? 'destroy'} after ${spec.idleSeconds} s`],
    ['resumes', spec.autoResume ? 'when it is used' : null],
    ['size', sizeOf(spec)],
    ['egress', spec.network.egress],
    ['host', record.hostId],
    ['address', ssh && `${ssh.user}@${ssh.address} port ${ssh.port}`],
    ['booted', bootText(record.boot ?? null)],
    ['created', record.createdAt],
    ['expires', record.proof ? null : record.expiresAt],
    ['ended by', record.stopReason],
    ['waits for', record.waitingFor],
    ['audit', record.auditFault ?? null],
    ...failureFields(failure),
  ];
  return [...recordLines(io, record.id, fields), ...(record.proof ? proofLines(io, record.proof) : [])];
}

/** Returns its processors and memory; null: unknown. */
export function sizeOf({ cpus, memoryMib }: Pick<Sandbox['spec'], 'cpus' | 'memoryMib'>): string | null {
  const parts = [cpus && `${cpus} CPU${cpus === 1 ? '' : 's'}`, memoryMib && formatSize(memoryMib * 1_048_576)];
  return parts.filter(Boolean).join(', ') || null;
}

/** Describes how it booted, and why no faster way was possible. */
function bootText(boot: Boot | null): string | null {
  if (boot === null) return null;
  const age = boot.ageSeconds === null ? '' : `, ${boot.ageSeconds} s old`;
  const from = boot.templateId === null ? '' : ` from ${boot.templateId}${age}`;
  return `${boot.way}${from}${boot.why === null ? '' : ` (${boot.why})`}`;
}

/** Describes its disk usage, and the time of measurement. */
export function usageLine(usage: SandboxUsage): string {
  const { usedBytes, quotaBytes, workspaceBytes, measuredAt, snapshotBytes, snapshots } = usage;
  const limit = quotaBytes === null ? '' : ` of ${formatSize(quotaBytes)}`;
  const disk = measuredAt ? `disk ${formatSize(workspaceBytes)} at ${measuredAt}` : 'disk not measured';
  const kept = `${snapshots} snapshot${snapshots === 1 ? '' : 's'} ${formatSize(snapshotBytes)}`;
  return `  ${'stores'.padEnd(10)}${printable(`${formatSize(usedBytes)}${limit}: ${disk}, ${kept}`)}`;
}

/** Lists by layer the inspected places and findings. */
export function proofLines(io: Io, proof: Proof): string[] {
  const looks = LAYERS.flatMap((layer) => {
    const observations = proof.observations.filter((o) => o.layer === layer);
    if (observations.length === 0) return [`  ${io.paint('red', `${layer}: nobody looked`)}`];
    return observations.map(({ absent, found, lookedAt }) => {
      const seen = proof.unproved === undefined ? `found: ${found ?? 'something'}` : 'unproved';
      const verdict = absent ? io.paint('green', 'absent') : io.paint('red', seen);
      return `  ${layer.padEnd(12)}${verdict}  ${io.paint('dim', lookedAt)}`;
    });
  });
  const said =
    proof.unproved === undefined
      ? `proof of ${printable(proof.provedAt)}: after the last removal each layer was looked at again`
      : io.paint('red', `UNPROVED at ${printable(proof.provedAt)}: ${printable(proof.unproved)}`);
  return [said, ...looks, ...observerLines(proof)];
}

/** Lists each observer of the proof with its machine, one per line. */
function observerLines({ observations }: Proof): string[] {
  const lines = observations.flatMap(({ by }) => {
    if (!by) return [];
    const machine = by.hostUuid === null ? 'a machine without a UUID' : `the machine ${by.hostUuid}`;
    return [printable(`  seen by     ${by.installationId} (${by.kind}) on host ${by.hostId}, ${machine}`)];
  });
  return [...new Set(lines)];
}

/** Prints the steps of a record that are not printed yet. */
export class StepPrinter {
  #printed: number;

  /** @param printed number of steps to skip */
  constructor(
    readonly io: Io,
    printed = 0,
  ) {
    this.#printed = printed;
  }

  show(record: Sandbox): void {
    for (const { step, startedAt, endedAt } of record.steps.slice(this.#printed)) {
      this.io.note(`  ${printable(step).padEnd(22)}${duration(between(startedAt, endedAt)).padStart(9)}`);
    }
    this.#printed = Math.max(this.#printed, record.steps.length);
    const doing = record.waitingFor ? `waits for ${record.waitingFor}` : (record.phase ?? record.state);
    this.io.noteForNow(this.io.paint('dim', `  ${doing} …`));
  }
}

/**
 * Follows a sandbox's event stream until `reached`, and prints each step as it ends.
 * @returns the last record read: not necessarily one that was `reached`, when the stream ended first
 * @throws the signal's reason when it was aborted first
 */
export async function follow(
  client: MayflyClient,
  first: Sandbox,
  reached: (record: Sandbox) => boolean,
  printer: StepPrinter,
  signal: AbortSignal,
): Promise<Sandbox> {
  printer.show(first);
  if (reached(first)) return first;
  // The signal ends the wait, even while the API is unavailable.
  const options = { signal, deadlineSeconds: LIMITS.waitSeconds.max };
  for await (const record of client.watchSandbox(first.id, options)) {
    printer.show(record);
    if (reached(record)) return record;
  }
  const last = await client.getSandbox(first.id, { signal });
  printer.show(last);
  return last;
}

/** Makes the signal of one wait: aborted by `io.signal`, or after a time. @param seconds time limit */
export function waitSignal(io: Io, seconds: number): { signal: AbortSignal } {
  const waiting = new AbortController();
  // Not AbortSignal.any with AbortSignal.timeout: Node 20 may collect both as garbage, and then they never fire.
  setTimeout(() => waiting.abort(new Error(`${seconds} s are over`)), seconds * 1_000).unref();
  const interrupt = () => waiting.abort(io.signal.reason);
  io.signal.addEventListener('abort', interrupt, { once: true });
  if (io.signal.aborted) interrupt();
  return waiting;
}
