import { z } from 'zod';
import { actor, encrypted, failure, hostRef, instant, optional, shownText } from '../fields.ts';
import type { HostRef } from '../host.ts';
import type { Actor } from './sandbox.ts';

/**
 * `exited`: by itself, `exitCode` says how. `signaled`: by `signal`, which we did not send. `timed-out`, `cancelled`: we
 * ended it. `interrupted`: its sandbox ended, or was restored, while it ran. `unknown`: it was started, and what became
 * of it cannot be found out. `not-started`: it never began, `failure` says why.
 */
export const commandOutcome = z.enum([
  'exited',
  'signaled',
  'timed-out',
  'cancelled',
  'interrupted',
  'unknown',
  'not-started',
]);
type CommandOutcome = z.infer<typeof commandOutcome>;

export type OutputStream = 'stdout' | 'stderr';

export const commandSpec = z.object({
  command: z.string().nullable().describe("Run by the user's login shell exactly as written (`shell -l -c command`)"),
  argv: z
    .array(z.string())
    .nullable()
    .describe('Run without any shell; the first is looked up on PATH unless it has a slash'),
  envNames: z
    .array(z.string())
    .describe('Names only: the values are kept apart and forgotten once the command has started'),
  cwd: z.string().nullable().describe("Absolute; null: the user's home"),
  user: z.string().nullable().describe('Of the guest; null: the login user'),
  timeoutSeconds: z.int().describe('From its start; the guest keeps it, so it holds when every worker is dead'),
  graceSeconds: optional(z.int()).describe('From SIGTERM to SIGKILL when it is ended. Default: 5'),
  maxOutputBytes: z.int().describe('Per stream; what comes after is dropped and counted'),
  stdinOpen: z.boolean().describe('Whether standard input stays open after what the request gave, for `POST …/stdin`'),
  isMasked: optional(z.boolean()).describe(
    'Secrets are taken from what it prints, before that is stored: nobody follows it live',
  ),
});
/** What to run; defaults filled in by the API. One of `command` and `argv` is set. */
export type CommandSpec = z.infer<typeof commandSpec>;

/** What the guest needs to start it and nobody needs to keep: removed from the store after the start. */
export interface CommandInputs {
  env: Record<string, string>;
  /** Written to standard input first. */
  stdin: Uint8Array;
  /** Files of a tmpfs, by their names, which only its user reads; they go with it. `@default` none */
  secretFiles?: Record<string, string>;
}

const streamSummary = z.object({
  bytes: z.int().describe('Written by the command'),
  kept: z.int().describe('Smaller than `bytes` when it wrote more than `maxOutputBytes`'),
});
export type StreamSummary = z.infer<typeof streamSummary>;

/**
 * requested → running → ended
 *
 * `requested`: recorded, its supervisor told; nothing has run. `running`: the guest has made its start marker, and from
 * then on it is never started again. `ended`: `outcome` says how; nothing of it changes any more. Inserted by the API, from
 * then on written by the worker of its host only.
 */
export const commandRecord = z.object({
  id: z.string(),
  sandboxId: z.string(),
  ...hostRef.shape,
  spec: encrypted(commandSpec),
  createdBy: actor,
  state: z.enum(['requested', 'running', 'ended']),
  requestedAt: instant,
  startedAt: instant.nullable().describe("Corrected by what its guest's clock differs"),
  endedAt: instant.nullable(),
  outcome: commandOutcome.nullable(),
  exitCode: z.int().nullable(),
  signal: z.string().nullable().describe('For example `SIGKILL`'),
  reason: shownText().nullable().describe('One sentence where the outcome alone does not say it'),
  failure: failure.nullable().describe('Set with `not-started`'),
  stdout: streamSummary.describe('In the store so far'),
  stderr: streamSummary.describe('In the store so far'),
});
export type CommandRecord = z.infer<typeof commandRecord>;

/** How a command ended, as the guest saw it, and by its clock. */
export type CommandExit = Pick<
  CommandRecord,
  'exitCode' | 'signal' | 'startedAt' | 'endedAt' | 'stdout' | 'stderr' | 'reason'
> & { outcome: CommandOutcome };

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
