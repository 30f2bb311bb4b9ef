import type { ErrorCode } from '../errors.ts';
import type { HostRef } from '../host.ts';
import type { Actor } from './sandbox.ts';

/**
 * requested → running → ended
 *
 * `requested`: recorded, its supervisor told; nothing has run. `running`: the guest has made its start marker, and from
 * then on it is never started again. `ended`: `outcome` says how; nothing of it changes any more.
 */
export const COMMAND_STATES = ['requested', 'running', 'ended'] as const;
export type CommandState = (typeof COMMAND_STATES)[number];

/**
 * `exited`: by itself, `exitCode` says how. `signaled`: by `signal`, which we did not send. `timed-out`, `cancelled`: we
 * ended it. `interrupted`: its sandbox ended, or was restored, while it ran. `unknown`: it was started, and what became
 * of it cannot be found out. `not-started`: it never began, `failure` says why.
 */
export const COMMAND_OUTCOMES = [
  'exited',
  'signaled',
  'timed-out',
  'cancelled',
  'interrupted',
  'unknown',
  'not-started',
] as const;
export type CommandOutcome = (typeof COMMAND_OUTCOMES)[number];

export type OutputStream = 'stdout' | 'stderr';

/** What to run; defaults filled in at the door. One of `command` and `argv` is set. */
export interface CommandSpec {
  /** Run by the user's login shell exactly as written (`shell -l -c command`). */
  command: string | null;
  /** Run without any shell; the first is looked up on PATH unless it has a slash. */
  argv: string[] | null;
  /** Names only: the values are kept apart and forgotten once the command has started, see {@link CommandInputs}. */
  envNames: string[];
  /** Absolute; null: the user's home. */
  cwd: string | null;
  /** A user of the guest; null: the login user. */
  user: string | null;
  /** From its start; the guest keeps it, so it holds when every worker is dead. Seconds. `@default` 600 */
  timeoutSeconds: number;
  /** From SIGTERM to SIGKILL when it is ended; a guest whose agent is older gives it 5. Seconds. `@default` 5 */
  graceSeconds?: number;
  /** Per stream; what comes after is dropped and counted. Bytes. `@default` 10 MiB */
  maxOutputBytes: number;
  /** Whether standard input stays open after what the request gave, for `POST …/stdin`. */
  stdinOpen: boolean;
  /** Secrets are taken from what it prints, before that is stored: nobody follows it live. `@default` false */
  isMasked?: boolean;
}

/** What the guest needs to start it and nobody needs to keep: removed from the store after the start. */
export interface CommandInputs {
  env: Record<string, string>;
  /** Written to standard input first. */
  stdin: Uint8Array;
  /** Files of a tmpfs, by their names, which only its user reads; they go with it. `@default` none */
  secretFiles?: Record<string, string>;
}

export interface StreamSummary {
  /** Written by the command, bytes. */
  bytes: number;
  /** Kept, bytes; smaller than `bytes` when it wrote more than `maxOutputBytes`. */
  kept: number;
}

/** How a command ended, as the guest saw it. */
export interface CommandExit {
  outcome: CommandOutcome;
  exitCode: number | null;
  /** For example `SIGKILL`. */
  signal: string | null;
  /** ISO 8601, by the guest's clock. */
  startedAt: string | null;
  endedAt: string | null;
  stdout: StreamSummary;
  stderr: StreamSummary;
  /** One sentence where the outcome alone does not say it. */
  reason: string | null;
}

/** `_id` is its id. Inserted by the API, from then on written by the worker of its host only. */
export interface CommandRecord extends HostRef {
  id: string;
  sandboxId: string;
  spec: CommandSpec;
  createdBy: Actor;
  state: CommandState;
  requestedAt: string;
  /** ISO 8601, corrected by what its guest's clock differs. */
  startedAt: string | null;
  endedAt: string | null;
  outcome: CommandOutcome | null;
  exitCode: number | null;
  signal: string | null;
  reason: string | null;
  /** Set with `not-started`. */
  failure: { code: ErrorCode; message: string } | null;
  /** What is in the store so far. */
  stdout: StreamSummary;
  stderr: StreamSummary;
}
/** First signal to the processes of a cancelled command; `SIGPIPE` when the reader of its output has left. */
export const END_SIGNALS = ['SIGTERM', 'SIGPIPE'] as const;
export type EndSignal = (typeof END_SIGNALS)[number];

/** A command as it is before anything of it has run. */
export function requestedCommand(
  id: string,
  { id: sandboxId, hostId, installationId }: HostRef & { id: string },
  spec: CommandSpec,
  createdBy: Actor,
): CommandRecord {
  return {
    id,
    sandboxId,
    hostId,
    installationId,
    spec,
    createdBy,
    state: 'requested',
    requestedAt: new Date().toISOString(),
    startedAt: null,
    endedAt: null,
    outcome: null,
    exitCode: null,
    signal: null,
    reason: null,
    failure: null,
    stdout: { bytes: 0, kept: 0 },
    stderr: { bytes: 0, kept: 0 },
  };
}
