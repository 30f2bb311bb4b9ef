import { z } from 'zod';
import type { CommandsBetween, FileChange, Snapshot } from '../../clients/typescript/http/openapi.ts';
import type { Fork } from '../../clients/typescript/snapshots.ts';
import { toVisibleText } from '../../model/approvals/visible-text.ts';
import type { GuestName } from '../../model/files/file-change.ts';
import { LIMITS } from '../../model/limits.ts';
import { snapshotKind } from '../../model/snapshots/snapshot.ts';
import { fitting, MAX_CHARS } from '../lib/bounded.ts';
import { cleanText, maskText, ToolError } from '../lib/error-text.ts';
import type { WorkingTask } from '../lib/task.ts';
import { IDEMPOTENCY_KEY, omitUndefined, type Registration, SANDBOX, tool, WAIT_SECONDS } from '../lib/tool.ts';
import { destroySandboxes, MACHINE, sandboxShape, summaryOf } from './sandboxes.ts';

/** Maximum characters of a command between two states. */
const COMMAND_LENGTH = 200;
const SNAPSHOT_ID = z.string().describe('snp-…');

const snapshotShape = {
  snapshotId: z.string(),
  sandboxId: z.string(),
  name: z.string(),
  kind: z.string(),
  state: z.string(),
  createdAt: z.string(),
};

const takeSnapshot = tool({
  name: 'snapshot',
  title: 'Take a snapshot',
  description: 'Save the disk of a sandbox (kind full: its memory too), to restore it, to fork it, or to diff with.',
  input: z.object({
    sandboxId: SANDBOX,
    name: z.string().max(LIMITS.snapshotName.maxLength).optional(),
    kind: snapshotKind.optional().describe('Default disk'),
    waitSeconds: WAIT_SECONDS,
    idempotencyKey: IDEMPOTENCY_KEY,
  }),
  output: z.object({ ...snapshotShape, next: z.string() }),
  effect: 'adds',
  async run(call, { sandboxId, waitSeconds, idempotencyKey, ...rest }) {
    const { client, signal } = call;
    const id = await client.sandboxIdOf(sandboxId, { signal });
    const request = omitUndefined(rest);
    const wait = {
      waitSeconds: call.waitSeconds(call.untilTask(waitSeconds)),
      ...call.key(idempotencyKey, [id, request]),
    };
    const taken = await client.snapshots.take(id, request, { ...wait, signal });
    return snapshotAnswer(taken);
  },
});

/** Returns the state of a snapshot. @throws ToolError when it failed */
export function snapshotAnswer(taken: Snapshot) {
  if (taken.state === 'failed') {
    const why = taken.failure ? `${taken.failure.code}: ${taken.failure.message}` : 'it came to nothing';
    throw new ToolError(`${taken.id} is failed: ${why}`, 'Mend what it says, and take another one.');
  }
  const isReady = taken.state === 'ready';
  const next = isReady
    ? 'To restore, fork and diff, give its id.'
    : `Read mayfly://snapshots/${taken.id} until it is ready.`;
  return {
    text: `${taken.id} is ${taken.state}. ${next}`,
    data: { ...snapshotOf(taken), next },
    ...(!isReady && { task: snapshotTask(taken) }),
  };
}

export function snapshotTask({ id, state, createdAt }: Snapshot): WorkingTask {
  return { status: 'working', taskId: id, statusMessage: `${id} is ${state}`, createdAt, lastUpdatedAt: createdAt };
}

const restore = tool({
  name: 'restore',
  title: 'Restore a sandbox',
  description:
    'Take a sandbox back to one of its snapshots. What it is now is kept as another snapshot, unless keepCurrent is false.',
  input: z.object({
    sandboxId: SANDBOX,
    snapshotId: SNAPSHOT_ID,
    keepCurrent: z.boolean().optional(),
    waitSeconds: WAIT_SECONDS,
    idempotencyKey: IDEMPOTENCY_KEY,
  }),
  output: z.object({ ...sandboxShape, keptAs: z.string().nullable(), next: z.string() }),
  effect: 'destroys',
  async run(call, { sandboxId, waitSeconds, idempotencyKey, ...rest }) {
    const { client, signal } = call;
    const id = await client.sandboxIdOf(sandboxId, { signal });
    const request = omitUndefined(rest);
    const wait = { waitSeconds: call.waitSeconds(waitSeconds), ...call.key(idempotencyKey, [id, request]) };
    const { keptAs, sandbox: record } = await client.snapshots.restore(id, request, { ...wait, signal });
    const next =
      record.state === 'restoring' ? `Read mayfly://sandboxes/${id} until it is running.` : 'It is restored.';
    const kept = keptAs === null ? '' : ` What it was is kept as ${keptAs}.`;
    return { text: `${id} is ${record.state}. ${next}${kept}`, data: { ...summaryOf(record), keptAs, next } };
  },
});

const fork = tool({
  name: 'fork',
  title: 'Fork a snapshot',
  description: 'Make sandboxes of a snapshot, each with an identity of its own.',
  input: z.object({
    snapshotId: SNAPSHOT_ID,
    count: z.int().min(1).max(LIMITS.fork.count.max).default(1),
    ...MACHINE,
    waitSeconds: WAIT_SECONDS,
    idempotencyKey: IDEMPOTENCY_KEY,
  }),
  output: z.object({
    items: z.array(z.object({ ...sandboxShape }).or(z.object({ problem: z.string() }))),
    next: z.string(),
  }),
  effect: 'adds',
  async run(call, { waitSeconds, idempotencyKey, egress, ...rest }) {
    const request = { ...omitUndefined(rest), ...(egress && { network: { egress } }) };
    const options = { idempotencyKey: crypto.randomUUID(), ...call.key(idempotencyKey, request) };
    const { client, signal } = call;
    const wait = { waitSeconds: call.waitSeconds(waitSeconds), signal };
    // A repeat of the request returns the ids of the started creates.
    const again = () => client.snapshots.fork(request, { ...options, waitSeconds: 0 });
    call.undoneBy(async () => destroySandboxes(client, madeOf(await again())));
    const forks = await client.snapshots.fork(request, { ...options, ...wait });
    const made = madeOf(forks);
    call.undoneBy(() => destroySandboxes(client, made));
    const items = forks.map((each) =>
      'sandbox' in each
        ? summaryOf(each.sandbox)
        : { problem: cleanText(`${each.problem.code}: ${each.problem.detail ?? each.problem.title}`) },
    );
    const lines = items.map((item) => ('problem' in item ? item.problem : `${item.sandboxId} is ${item.state}`));
    const next = `Run commands in each with ${call.tool('run_command')}, and end each with ${call.tool('destroy_sandbox')}.`;
    return { text: [...lines, next].join('\n'), data: { items, next } };
  },
});

function madeOf(forks: readonly Fork[]): { id: string }[] {
  return forks.flatMap((each) => ('sandbox' in each ? [{ id: each.sandbox.id }] : []));
}

const diff = tool({
  name: 'diff',
  title: 'Compare file systems',
  description:
    'Say which files changed from one snapshot to another, or to the present state of its sandbox ("current"), and which commands ran between.',
  input: z.object({
    from: SNAPSHOT_ID,
    to: z.string().max(128).default('current').describe('snp-…, or "current"'),
    paths: z.array(z.string().regex(/^\//)).max(32).optional(),
    limit: z.int().min(1).max(500).default(100),
    maxChars: MAX_CHARS,
  }),
  output: z.object({
    counts: z.object({ added: z.number(), changed: z.number(), removed: z.number(), renamed: z.number() }),
    changes: z.array(
      z.object({
        change: z.string(),
        path: z.string(),
        from: z.string().nullable(),
        type: z.string(),
        what: z.array(z.string()),
      }),
    ),
    commands: z.array(z.object({ commandId: z.string(), exitCode: z.number().nullable(), command: z.string() })),
    isCut: z.boolean(),
  }),
  effect: 'reads',
  async run({ client, signal }, { from, to, paths, limit, maxChars }) {
    const options = { ...omitUndefined({ paths }), limit, signal };
    const found = await client.snapshots.diff.list(from, to, options);
    const { added, changed, removed, renamed } = found.counts;
    const half = Math.floor(maxChars / 2);
    const commands = fitting(found.commands.items.map(ranCommand), commandLine, half);
    const used = Buffer.byteLength(JSON.stringify(commands));
    const changes = fitting(found.changes.map(change), changeLine, maxChars - used);
    const isCut = found.isCut || changes.length < found.changes.length;
    const areMore = found.commands.isCut || commands.length < found.commands.items.length;
    const lines = [
      `${added} added, ${changed} changed, ${removed} removed, ${renamed} renamed`,
      ...changes.map(changeLine),
      ...(isCut ? [`[only ${changes.length} are shown; narrow it with paths, or raise limit or maxChars]`] : []),
      ...commands.map(commandLine),
      ...(areMore ? [`[only the first ${commands.length} commands are shown]`] : []),
      ...(found.commands.unknown === null ? [] : [`[commands: ${found.commands.unknown}]`]),
    ];
    return { text: lines.join('\n'), data: { counts: found.counts, changes, commands, isCut: isCut || areMore } };
  },
});

export const snapshotTools: Registration[] = [takeSnapshot, restore, fork, diff];

export function snapshotOf({ id, sandboxId, name, kind, state, createdAt }: Snapshot) {
  return { snapshotId: id, sandboxId, name, kind, state, createdAt };
}

function change({ change: kind, path, from, type, what }: FileChange) {
  return { change: kind, path: nameText(path), from: from === null ? null : nameText(from), type, what };
}

function changeLine({ change: kind, path, from, type }: ReturnType<typeof change>): string {
  return `${kind} ${type} ${from === null ? '' : `${toVisibleText(from)} -> `}${toVisibleText(path)}`;
}

function ranCommand({ id, command, argv, exitCode }: CommandsBetween['items'][number]) {
  return { commandId: id, exitCode, command: maskText(command ?? (argv ?? []).join(' ')).slice(0, COMMAND_LENGTH) };
}

function commandLine({ commandId, exitCode, command }: ReturnType<typeof ranCommand>): string {
  return `ran ${commandId} ${exitCode ?? '-'} ${toVisibleText(command)}`;
}

function nameText(name: GuestName): string {
  return typeof name === 'string' ? name : Buffer.from(name.base64, 'base64').toString();
}
