import type { HostRef } from '../host.ts';
import type { Actor, SandboxFailure } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';

/** The user that a prepared source has for looks: no password, no home, no shell but the gate. */
export const SOURCE_USER = 'mayfly-readonly';

/**
 * unprepared → preparing → prepared → unpreparing → unprepared
 *
 * A prepare that fails goes from `preparing` through `unpreparing` back to `unprepared`: what it changed is taken back.
 */
export const SOURCE_ACCESS_STATES = ['unprepared', 'preparing', 'prepared', 'unpreparing'] as const;
export type SourceAccessState = (typeof SOURCE_ACCESS_STATES)[number];

/** What is known of a source once it has been asked to be prepared: `_id` is its source id. Written by its own workflow. */
export interface SourceAccess extends HostRef {
  id: string;
  name: string;
  state: SourceAccessState;
  /** The sshd that lets us in, as its own machine describes it; null before it was ever inspected. */
  sshd: SourceSshd | null;
  /** SHA-256 of the gate that was installed, hex. */
  gateVersion: string | null;
  /** What was changed on the source, one line each, as a person would undo it. */
  changes: string[];
  preparedAt: string | null;
  preparedBy: Actor | null;
  /** Why the last prepare failed. */
  failure: SandboxFailure | null;
  /** What an undo that does not hold yet waits for. */
  waitingFor: string | null;
  updatedAt: string;
}

export interface SourceSshd {
  /** TCP; null where the host alone knows it. */
  port: number | null;
  /** Read on the source itself, never from the network: one OpenSSH public key line. */
  hostKey: string;
  version: string;
}

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
