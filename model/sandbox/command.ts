import { z } from 'zod';
import { actor, displayText, encryptedField, failure, hostRef, instant, optional } from '../fields.ts';
import type { HostRef } from '../host.ts';
import type { Actor } from './sandbox.ts';

/**
 * Outcomes of a command. `exited`: with `exitCode`. `signaled`: by a foreign `signal`. `timed-out`,
 * `cancelled`: ended by Mayfly. `interrupted`: its sandbox ended, or was restored. `unknown`: started, but its end
 * cannot be determined. `not-started`: see `failure`.
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
/** Specification of a command; the API fills in defaults. Exactly one of `command` and `argv` is set. */
export type CommandSpec = z.infer<typeof commandSpec>;

/** Inputs needed only for the start, after which the store deletes them. */
export interface CommandInputs {
  env: Record<string, string>;
  /** Initial standard input. */
  stdin: Uint8Array;
  /** Files by name on a tmpfs, readable only by its user; removed with the tmpfs. `@default` none */
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
 * `requested`: recorded, its supervisor notified; nothing has run. `running`: the guest has written its start marker,
 * so it is never started again. `ended`: final, with an `outcome`. Inserted by the API, then written only by its host's
 * worker.
 */
export const commandRecord = z.object({
  id: z.string(),
  sandboxId: z.string(),
  ...hostRef.shape,
  spec: encryptedField(commandSpec),
  createdBy: actor,
  state: z.enum(['requested', 'running', 'ended']),
  requestedAt: instant,
  startedAt: instant.nullable().describe("Corrected by what its guest's clock differs"),
  endedAt: instant.nullable(),
  outcome: commandOutcome.nullable(),
  exitCode: z.int().nullable(),
  signal: z.string().nullable().describe('For example `SIGKILL`'),
  reason: displayText().nullable().describe('One sentence where the outcome alone does not say it'),
  failure: failure.nullable().describe('Set with `not-started`'),
  stdout: streamSummary.describe('In the store so far'),
  stderr: streamSummary.describe('In the store so far'),
});
export type CommandRecord = z.infer<typeof commandRecord>;

/** End of a command as reported by the guest, by its clock. */
export type CommandExit = Pick<
  CommandRecord,
  'exitCode' | 'signal' | 'startedAt' | 'endedAt' | 'stdout' | 'stderr' | 'reason'
> & { outcome: CommandOutcome };

/** First signal to the processes of a cancelled command; `SIGPIPE` when the reader of its output has disconnected. */
export const END_SIGNALS = ['SIGTERM', 'SIGPIPE'] as const;
export type EndSignal = (typeof END_SIGNALS)[number];

/** Builds the record of a command before its start. */
export function newCommandRecord(
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
