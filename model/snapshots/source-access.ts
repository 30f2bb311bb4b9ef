import { z } from 'zod';
import { actor, hostRef, instant, shownText, stepFailure } from '../fields.ts';
import type { HostRef } from '../host.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';

/** The user that a prepared source has for looks: no password, no home, no shell but the gate. */
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
 * A prepare that fails goes from `preparing` through `unpreparing` back to `unprepared`: what it changed is taken back.
 * Known of a source once it has been asked to be prepared; written by its own workflow.
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
  waitingFor: shownText().nullable().describe('What an undo that does not hold yet waits for'),
  updatedAt: instant,
});
export type SourceAccess = z.infer<typeof sourceAccess>;

/** What preparing needs to know of a source before it changes anything. */
export interface SourceInspection {
  sshd: SourceSshd;
  os: string;
  /** `enforcing`, `permissive`, or `none`. */
  selinux: string;
  /** A file in sshd_config.d where the main file includes that folder, else a block at the main file's end. */
  placement: 'drop-in' | 'block';
  /** Digest of the settings that sshd gives to everybody else; they must be the same afterwards. */
  othersDigest: string;
}

export type SourceTask = 'prepare' | 'unprepare';

/** The workflow type, and the input of its one execution at a time; its id is {@link sourceWorkflowIdOf}. */
export const SOURCE_WORKFLOW = 'source';
export interface SourceInput extends HostRef {
  task: SourceTask;
  sourceId: string;
  name: string;
  actor: Actor;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** Where a run's task is told to whoever finds it running: Temporal's memo. */
export const SOURCE_TASK_MEMO = 'task';

export function sourceWorkflowIdOf(hostId: string, name: string): string {
  return `source/${hostId}/${name}`;
}

/** How a command on a source ended, and what it printed. */
export interface SourceCommandResult {
  exitCode: number | null;
  /** For example `SIGKILL`. */
  signal: string | null;
  /** The gate's time or output bound ended it. */
  timedOut: boolean;
  stdout: SourceOutput;
  stderr: SourceOutput;
  durationMs: number;
}

/** One of `text` (it was UTF-8) and `base64` is set. */
export interface SourceOutput {
  text: string | null;
  base64: string | null;
  /** It printed more than was kept. */
  truncated: boolean;
}
