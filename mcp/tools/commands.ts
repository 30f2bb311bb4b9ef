import { z } from 'zod';
import type { Command, StartCommand } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { LIMITS } from '../../model/limits.ts';
import { CHARS } from '../lib/bounded.ts';
import { formatExcerpt, outputReader, readExcerpt, readPart, type StreamExcerpt } from '../lib/byte-part.ts';
import type { Call } from '../lib/call.ts';
import type { WorkingTask } from '../lib/task.ts';
import { IDEMPOTENCY_KEY, omitUndefined, type Registration, SANDBOX, tool, WAIT_SECONDS } from '../lib/tool.ts';

const MAX_CHARS = z.int().min(CHARS.min).max(CHARS.max).default(CHARS.default).describe('Of output');
const COMMAND_ID = z.string().describe('cmd-…');

const { timeoutSeconds, maxLength, maxArguments } = LIMITS.command;

const runCommand = tool({
  name: 'run_command',
  title: 'Run a command',
  description:
    'Run a shell command (or argv, without a shell) in a sandbox, once. When the wait is over first, it goes on: ' +
    'read_output follows it, cancel_command ends it. Of long output the beginning and the end are shown.',
  input: z.object({
    sandboxId: SANDBOX,
    command: z.string().min(1).max(maxLength).optional(),
    argv: z.array(z.string()).min(1).max(maxArguments).optional(),
    env: z.record(z.string(), z.string()).optional(),
    cwd: z.string().optional(),
    user: z.string().optional(),
    stdin: z.string().optional(),
    timeoutSeconds: z
      .int()
      .min(timeoutSeconds.min)
      .max(timeoutSeconds.max)
      .optional()
      .describe('Killed after; default 600'),
    waitSeconds: WAIT_SECONDS,
    maxChars: MAX_CHARS,
    idempotencyKey: IDEMPOTENCY_KEY,
  }),
  output: z.object({
    commandId: z.string(),
    sandboxId: z.string(),
    state: z.string(),
    outcome: z.string().nullable(),
    exitCode: z.number().nullable(),
    signal: z.string().nullable(),
    stdout: z.string(),
    stderr: z.string(),
    leftOut: z.array(z.object({ stream: z.string(), from: z.number(), to: z.number() })).describe('Bytes'),
    next: z.string(),
  }),
  effect: 'destroys',
  isOpen: true,
  async run(call, { sandboxId: named, waitSeconds, maxChars, idempotencyKey, ...rest }) {
    const { client, signal } = call;
    const sandboxId = await client.sandboxIdOf(named, { signal });
    const request: StartCommand = omitUndefined(rest);
    const options = { idempotencyKey: crypto.randomUUID(), ...call.key(idempotencyKey, [sandboxId, request]) };
    const wait = { waitSeconds: call.waitSeconds(call.untilTask(waitSeconds)), signal };
    // A repeat of the request returns the command's id, even before it starts.
    call.undoneBy(async () =>
      cancelled(client, await client.commands.run(sandboxId, request, { ...options, waitSeconds: 0 })),
    );
    const command = await client.commands.run(sandboxId, request, { ...options, ...wait });
    call.undoneBy(() => cancelled(client, command));
    return commandAnswer(call, command, maxChars);
  },
});

/** Returns the state of a command, and its output. */
export async function commandAnswer(call: Call, command: Command, maxChars: number = CHARS.default) {
  const { id: commandId, sandboxId, state, outcome, exitCode, signal } = command;
  const output = await outputOf(call, command, maxChars);
  const next = nextOf(call, command, output);
  const [stdout, stderr] = [formatExcerpt(output.stdout), formatExcerpt(output.stderr)];
  const leftOut = [...leftOutOf('stdout', output.stdout), ...leftOutOf('stderr', output.stderr)];
  return {
    text: textOf(command, { stdout, stderr }, next),
    data: { commandId, sandboxId, state, outcome, exitCode, signal, stdout, stderr, leftOut, next },
    ...(state !== 'ended' && { task: commandTask(command) }),
  };
}

/** Makes the task of a command, named by its sandbox and its own id. */
export function commandTask({ id, sandboxId, requestedAt, startedAt, state }: Command): WorkingTask {
  const lastUpdatedAt = startedAt ?? requestedAt;
  const statusMessage = `${id} is ${state}`;
  return { status: 'working', taskId: `${sandboxId}/${id}`, statusMessage, createdAt: requestedAt, lastUpdatedAt };
}

/** Cancels a command whose caller has cancelled. */
export async function cancelled(
  { commands }: MayflyClient,
  { id, sandboxId, state }: Pick<Command, 'id' | 'sandboxId' | 'state'>,
) {
  if (state !== 'ended') await commands.cancel(sandboxId, id);
}

const readOutput = tool({
  name: 'read_output',
  title: 'Read the output of a command',
  description: 'Read a part of what a command has written, from a byte offset, and whether it still runs.',
  input: z.object({
    sandboxId: SANDBOX,
    commandId: COMMAND_ID,
    stream: z.enum(['stdout', 'stderr']).default('stdout'),
    offset: z.int().min(0).default(0).describe('Bytes; nextOffset of the call before'),
    maxChars: MAX_CHARS,
    waitSeconds: WAIT_SECONDS,
  }),
  output: z.object({
    commandId: z.string(),
    state: z.string(),
    exitCode: z.number().nullable(),
    text: z.string(),
    nextOffset: z.number(),
    next: z.string(),
  }),
  effect: 'reads',
  async run(call, { sandboxId: named, commandId, stream, offset, maxChars, waitSeconds }) {
    const { client, signal } = call;
    const before = await client.commands.get(named, commandId, { signal });
    const command = before.state === 'ended' ? before : await awaitOutput(call, before, offset, stream, waitSeconds);
    const { id, sandboxId, state, exitCode } = command;
    const output = outputReader(client.commands, { id, sandboxId, stream }, signal);
    const read = await readPart(output, { from: offset, to: offset + maxChars });
    const isAll = state === 'ended' && read.to >= command[stream].kept;
    const next = isAll ? 'That was all.' : `Go on with offset ${read.to}.`;
    return {
      text: `${read.text}\n[${stateText(command)}; bytes ${read.from} to ${read.to} of ${stream}. ${next}]`,
      data: { commandId, state, exitCode, text: read.text, nextOffset: read.to, next },
    };
  },
});

/** Waits until the command ends or writes after the offset, or the time has passed. */
async function awaitOutput(
  call: Call,
  command: Command,
  offset: number,
  stream: 'stdout' | 'stderr',
  waitSeconds: number,
) {
  const { commands } = call.client;
  const { id, sandboxId } = command;
  if (waitSeconds === 0) return command;
  const over = await call.within(waitSeconds, async (signal) => {
    for await (const piece of commands.follow(sandboxId, id, { signal })) {
      if ('ended' in piece) return piece.ended;
      if (piece.stream === stream && piece.offset + piece.bytes.length > offset) break;
    }
    return undefined;
  });
  return over ?? commands.get(sandboxId, id, { signal: call.signal });
}

const cancelCommand = tool({
  name: 'cancel_command',
  title: 'Cancel a command',
  description: 'End a command with all processes it started: SIGTERM, then SIGKILL.',
  input: z.object({ sandboxId: SANDBOX, commandId: COMMAND_ID }),
  output: z.object({ commandId: z.string(), state: z.string(), next: z.string() }),
  effect: 'destroys',
  isIdempotent: true,
  async run(call, { sandboxId, commandId }) {
    const command = await call.client.commands.cancel(sandboxId, commandId, { signal: call.signal });
    const next =
      command.state === 'ended' ? 'It has ended.' : `It is being ended; ${call.tool('read_output')} says when it has.`;
    return { text: `${stateText(command)}. ${next}`, data: { commandId, state: command.state, next } };
  },
});

export const commandTools: Registration[] = [runCommand, readOutput, cancelCommand];

interface Output {
  stdout: StreamExcerpt;
  stderr: StreamExcerpt;
}

/** Reads both streams: each gets half of the room, plus the other's unused part. */
async function outputOf({ client, signal }: Call, command: Command, maxChars: number): Promise<Output> {
  const half = Math.floor(maxChars / 2);
  const forStderr = Math.max(half, maxChars - command.stdout.kept);
  const forStdout = Math.max(half, maxChars - command.stderr.kept);
  const [stdout, stderr] = await Promise.all([
    readExcerpt(client.commands, command, 'stdout', forStdout, signal),
    readExcerpt(client.commands, command, 'stderr', forStderr, signal),
  ]);
  return { stdout, stderr };
}

function textOf(command: Command, { stdout, stderr }: Record<'stdout' | 'stderr', string>, next: string): string {
  const streams = [stdout && `stdout:\n${stdout}`, stderr && `stderr:\n${stderr}`].filter(Boolean);
  return [`${stateText(command)}.`, ...streams, next].join('\n');
}

function leftOutOf(stream: 'stdout' | 'stderr', { parts: [first, last] }: StreamExcerpt) {
  return first && last ? [{ stream, from: first.to, to: last.from }] : [];
}

function stateText({ id, state, outcome, exitCode, signal, reason }: Command): string {
  if (state !== 'ended') return `${id} is ${state}`;
  const how = [exitCode !== null && `exit code ${exitCode}`, signal, reason].filter(Boolean);
  return `${id} ended: ${outcome}${how.length > 0 ? ` (${how.join(', ')})` : ''}`;
}

function nextOf(call: Call, { id, state }: Command, output: Output): string {
  if (state !== 'ended')
    return `It goes on. Follow it with ${call.tool('read_output')}, or end it with ${call.tool('cancel_command')}, commandId ${id}.`;
  const cut = (['stdout', 'stderr'] as const).filter((stream) => output[stream].parts.length > 1);
  const lost = (['stdout', 'stderr'] as const).filter((stream) => output[stream].written > output[stream].kept);
  const sentences = [
    ...cut.map(
      (stream) =>
        `The rest of ${stream} is there with ${call.tool('read_output')} from offset ${output[stream].parts[0]?.to}.`,
    ),
    ...lost.map(
      (stream) => `Of ${stream} only the first ${output[stream].kept} bytes of ${output[stream].written} were kept.`,
    ),
  ];
  return sentences.join(' ') || 'That is all of its output.';
}
