import type { Sandbox, SandboxUsage } from '../../clients/typescript/http/openapi.ts';
import { LAYERS } from '../../model/sandbox/layers.ts';
import type { Proof } from '../../model/sandbox/proof.ts';
import type { Boot } from '../../model/sandbox/sandbox.ts';
import { sizeText } from '../../model/snapshots/storage.ts';
import { type Io, printable, recordLines } from '../terminal/io.ts';
import { failureFields } from '../terminal/remedies.ts';

/** A sandbox as a person reads it; null and empty fields are left out. */
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

/** Returns its processors and memory; null: not known. */
export function sizeOf({ cpus, memoryMib }: Pick<Sandbox['spec'], 'cpus' | 'memoryMib'>): string | null {
  const parts = [cpus && `${cpus} CPU${cpus === 1 ? '' : 's'}`, memoryMib && sizeText(memoryMib * 1_048_576)];
  return parts.filter(Boolean).join(', ') || null;
}

/** How it came to its machine, and why not quicker. */
function bootText(boot: Boot | null): string | null {
  if (boot === null) return null;
  const age = boot.ageSeconds === null ? '' : `, ${boot.ageSeconds} s old`;
  const from = boot.templateId === null ? '' : ` from ${boot.templateId}${age}`;
  return `${boot.way}${from}${boot.why === null ? '' : ` (${boot.why})`}`;
}

/** What it stores, and when that was measured. */
export function usageLine(usage: SandboxUsage): string {
  const { usedBytes, quotaBytes, workspaceBytes, measuredAt, snapshotBytes, snapshots } = usage;
  const limit = quotaBytes === null ? '' : ` of ${sizeText(quotaBytes)}`;
  const disk = measuredAt ? `disk ${sizeText(workspaceBytes)} at ${measuredAt}` : 'disk not measured';
  const kept = `${snapshots} snapshot${snapshots === 1 ? '' : 's'} ${sizeText(snapshotBytes)}`;
  return `  ${'stores'.padEnd(10)}${printable(`${sizeText(usedBytes)}${limit}: ${disk}, ${kept}`)}`;
}

/** Layer by layer: what was looked at, and what was there. */
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
  return [said, ...looks, ...lookerLines(proof)];
}

/** Who looked, and at which machine: one line for each that did. */
function lookerLines({ observations }: Proof): string[] {
  const lines = observations.flatMap(({ by }) => {
    if (!by) return [];
    const machine = by.hostUuid === null ? 'a machine without a UUID' : `the machine ${by.hostUuid}`;
    return [printable(`  seen by     ${by.installationId} (${by.kind}) on host ${by.hostId}, ${machine}`)];
  });
  return [...new Set(lines)];
}
