import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import {
  actor,
  displayText,
  type egress,
  encryptedField,
  hostRef,
  instant,
  network,
  optional,
  size,
  stepFailure,
} from '../fields.ts';
import { proof } from './proof.ts';
import { SANDBOX_STATES } from './sandbox-state.ts';

export type Egress = z.infer<typeof egress>;
export type Network = z.infer<typeof network>;
export type Actor = z.infer<typeof actor>;
export type SandboxFailure = z.infer<typeof stepFailure>;

/** Phases of a create; the last one is that of a restore, which renews the guest's trust. */
const sandboxPhase = z.enum(['placing', 'cloning', 'booting', 'awaiting-ip', 'verifying-ssh', 'renewing-trust']);
export type SandboxPhase = z.infer<typeof sandboxPhase>;

/** Action on an idle sandbox. */
export const idleAction = z.enum(['destroy', 'hibernate']);
export type IdleAction = z.infer<typeof idleAction>;

/**
 * Reasons for the end of a sandbox. `lost`: its workflow was lost, and adoption failed. `retired`: a surplus pool
 * member. With `machine-ended`, `failure` has the details.
 */
const stopReason = z.enum([
  'deleted',
  'ttl',
  'idle',
  'create-failed',
  'lost',
  'host-forgotten',
  'machine-ended',
  'retired',
]);
export type StopReason = z.infer<typeof stopReason>;

/** Causes for which a host suspends a growing sandbox. */
export const SPACE_SUSPENSION_CAUSES = ['quota_exceeded', 'host_disk_full'] as const satisfies readonly ErrorCode[];
export type SpaceSuspensionCause = (typeof SPACE_SUSPENSION_CAUSES)[number];

/** Requested way to get a machine. `auto`: the fastest available. */
export const requestedBoot = z.enum(['auto', 'cold', 'template']);
export type RequestedBoot = z.infer<typeof requestedBoot>;

/**
 * Actual way to get a machine. `warm`: it was already running, in a pool. `template`: restored from a similar machine's
 * memory. `cold`: booted.
 */
const bootWay = z.enum(['warm', 'template', 'cold']);
export type BootWay = z.infer<typeof bootWay>;

/**
 * Reasons for not using a faster way; a closed list. `pool_empty`: no member could be claimed. `asked`: requested by
 * the caller. `origin`: created from a snapshot or a capture. `unsupported`: the host makes no templates, or none of
 * that machine. `no_template`: none is ready. `template_failed`: it did not wake. `template_changed`: its saved files
 * have changed.
 */
const bootReason = z.enum([
  'pool_empty',
  'asked',
  'origin',
  'unsupported',
  'no_template',
  'template_failed',
  'template_changed',
]);
export type BootReason = z.infer<typeof bootReason>;

const boot = z.object({
  way: bootWay,
  why: bootReason.nullable().describe('Null: it was the quickest'),
  templateId: z.string().nullable().describe('What it woke from; null: it booted'),
  ageSeconds: z.int().nullable().describe('How old that was'),
});
export type Boot = z.infer<typeof boot>;

/** Pool of a sandbox, even after its claim. */
const membership = z.object({
  name: z.string(),
  revision: z.int(),
  content: z.string().nullable().describe("What its source held when it was made; null: that can't be told"),
  warmAt: instant.nullable().describe('When it was ready'),
  claimedBy: z.string().nullable().describe('The request that has claimed it'),
});
export type Membership = z.infer<typeof membership>;

export const sandboxSpec = z.object({
  source: z.string().describe('Name of the golden VM'),
  snapshotId: z.string().nullable().describe("Snapshot that it is made from (a fork), instead of the source's disks"),
  captureId: optional(z.string().nullable()).describe('Capture of the running source that it is made from'),
  cpus: z.int().nullable().describe("Virtual CPUs; null keeps the source's"),
  memoryMib: z.int().nullable().describe("Null keeps the source's"),
  ttlSeconds: z.int().describe("From the request to the sandbox's end"),
  idleSeconds: z.int().nullable().describe('Without use, until `onIdle` is done; null: never'),
  onIdle: optional(idleAction).describe('Default: destroy'),
  autoResume: z
    .boolean()
    .describe('Whether a command or another use of it, while it is paused or hibernated, resumes it'),
  metadata: encryptedField(z.record(z.string(), z.string()), (problem) => [{ name: 'unreadable', value: problem }]),
  agentId: z.string().nullable(),
  network,
  boot: optional(requestedBoot).describe('How it gets its machine. Default: auto'),
});
/** Specification by the caller; the API fills in defaults. */
export type SandboxSpec = z.infer<typeof sandboxSpec>;

const sshEndpoint = z.object({
  address: z.string(),
  port: z.int(),
  user: z.string().describe('Login user inside the guest'),
  hostKey: z.string().describe('The pinned host key, one line in OpenSSH public key format'),
});
/** Endpoint of a sandbox's sshd. */
export type SshEndpoint = z.infer<typeof sshEndpoint>;

const stepTiming = z.object({ step: z.string(), startedAt: instant, endedAt: instant });
/** Timing of a step. */
export type StepTiming = z.infer<typeof stepTiming>;

/** Written only by activities of its own workflow. */
export const sandboxRecord = z.object({
  id: z.string(),
  project: z.string().describe('Of the key that asked for it. Never changes'),
  name: z
    .string()
    .nullable()
    .describe('Of no other of its project that lives. Nothing outside the store is named after it'),
  state: z.enum(SANDBOX_STATES),
  phase: sandboxPhase.nullable().describe('Set while `creating`, and at the end of `restoring`'),
  spec: sandboxSpec,
  createdBy: actor.describe('Who asked for it'),
  hostId: z.string().nullable(),
  installationId: z.string().nullable().describe('Of that host; null when no host has it'),
  size: optional(size).describe('Counts in the quotas of its project. Default: what its spec says'),
  boot: optional(boot.nullable()).describe('How it got its machine; null: it has none yet'),
  builds: optional(z.enum(['image', 'source', 'playbook', 'run'])).describe(
    'What it was made for by Mayfly itself; absent: for its caller',
  ),
  pool: optional(membership).describe("Of a pool's member, also when it was claimed"),
  askedHosts: z
    .array(hostRef)
    .describe('Every host that was ever asked to take it, also those that refused: its proof looks at each'),
  parentSnapshotId: z.string().nullable().describe('Snapshot its disks refer to now; null: the source itself'),
  restoreId: optional(z.string().nullable()).describe('Restore that its disks are of; absent: it was never restored'),
  ssh: sshEndpoint.nullable(),
  macAddress: z.string().nullable(),
  createdAt: instant,
  updatedAt: instant,
  runningAt: instant.nullable(),
  expiresAt: instant.describe('When the TTL ends it'),
  stopReason: stopReason.nullable(),
  failure: stepFailure.nullable(),
  stalledBy: z
    .enum(SPACE_SUSPENSION_CAUSES)
    .nullable()
    .describe('Set while it is `paused` by its host, which resumes it as soon as there is room'),
  waitingFor: displayText()
    .nullable()
    .describe("What a saga that can't go on waits for, e.g. `host kvm-2 to come back`"),
  auditFault: optional(z.string().nullable()).describe('Why events wait for its audit trail; null: none do'),
  proof: proof.nullable(),
  steps: z.array(stepTiming),
});
export type SandboxRecord = z.infer<typeof sandboxRecord>;

/** Returns the fields that change when its disks are replaced by those of a snapshot. */
export function getDiskGeneration({
  parentSnapshotId,
  restoreId = null,
}: Pick<SandboxRecord, 'parentSnapshotId' | 'restoreId'>) {
  return { parentSnapshotId, restoreId };
}
