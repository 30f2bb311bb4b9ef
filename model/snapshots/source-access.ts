import { z } from 'zod';
import { actor, displayText, hostRef, instant, stepFailure } from '../fields.ts';
import type { HostRef } from '../host.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';

/** User for inspecting a prepared source: no password, no home, no shell but the gate. */
export const SOURCE_USER = 'mayfly-readonly';

const sourceSshd = z.object({
  port: z.int().nullable().describe('TCP; null where the host alone knows it'),
  hostKey: z.string().describe('Read on the source itself, never from the network: one OpenSSH public key line'),
  version: z.string(),
});
export type SourceSshd = z.infer<typeof sourceSshd>;

/**
 * unprepared → preparing → prepared → unpreparing → unprepared
 *
 * A failed preparation goes through `unpreparing`, which compensates it, back to `unprepared`. Exists for sources with
 * a requested preparation; written by its own workflow.
 */
export const sourceAccess = z.object({
  id: z.string(),
  ...hostRef.shape,
  name: z.string(),
  state: z.enum(['unprepared', 'preparing', 'prepared', 'unpreparing']),
  sshd: sourceSshd.nullable().describe('The sshd that lets Mayfly in; null before it was ever inspected'),
  gateVersion: z.string().nullable().describe('SHA-256 of the gate that was installed, hex'),
  changes: z.array(z.string()).describe('What was changed on the source, one line each, as a person would undo it'),
  preparedAt: instant.nullable(),
  preparedBy: actor.nullable(),
  failure: stepFailure.nullable().describe('Why the last prepare failed'),
  waitingFor: displayText().nullable().describe('What an undo that does not hold yet waits for'),
  updatedAt: instant,
});
export type SourceAccess = z.infer<typeof sourceAccess>;

/** Facts about a source that its preparation depends on. */
export interface SourceInspection {
  sshd: SourceSshd;
  os: string;
  /** `enforcing`, `permissive`, or `none`. */
  selinux: string;
  /** File in sshd_config.d where the main file includes that folder, else a block at the end of the main file. */
  placement: 'drop-in' | 'block';
  /** Digest of sshd's settings for all other users, which must not change. */
  othersDigest: string;
}

export type SourceTask = 'prepare' | 'unprepare';

/** Workflow that prepares or unprepares a source, one at a time per source; its id is {@link sourceWorkflowId}. */
export const SOURCE_WORKFLOW = 'source';
export interface SourceInput extends HostRef {
  task: SourceTask;
  sourceId: string;
  name: string;
  actor: Actor;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** Key of Temporal's memo that holds the task of the running workflow. */
export const SOURCE_TASK_MEMO = 'task';

export function sourceWorkflowId(hostId: string, name: string): string {
  return `source/${hostId}/${name}`;
}

/** Result of a command on a source. */
export interface SourceCommandResult {
  exitCode: number | null;
  /** For example `SIGKILL`. */
  signal: string | null;
  /** True when the gate's limit on time or output ended it. */
  timedOut: boolean;
  stdout: SourceOutput;
  stderr: SourceOutput;
  durationMs: number;
}

/** Exactly one of `text` (valid UTF-8) and `base64` is set. */
export interface SourceOutput {
  text: string | null;
  base64: string | null;
  /** True when output was dropped. */
  truncated: boolean;
}
