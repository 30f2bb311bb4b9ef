import type { BakedSource, Source, SourceAccess, SourcePower } from '../../clients/typescript/http/openapi.ts';
import { findSnapshotId, SNAPSHOT, snapshotIdOrName } from '../snapshot/named.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { positional } from '../terminal/arguments.ts';
import { EXIT, usageError } from '../terminal/cli-error.ts';
import { command, customCommand, nounCommand, pagedCommand } from '../terminal/command.ts';
import { columns, type Io, printable, withProgress } from '../terminal/io.ts';
import { HOST_OPTION, onHost } from './host-option.ts';
import { runCommand } from './run.ts';

/** `mayfly source cat`: prints a file unchanged, or lists a directory. */
export const catCommand = customCommand({
  description: 'Print a file of a prepared source, or list a directory',
  args: {
    name: positional('Source (`mayfly source list`)'),
    path: positional('Absolute path of a file or directory on it'),
    ...HOST_OPTION,
  },
  async run({ io, args, connect }) {
    if (!args.path.startsWith('/')) throw usageError('the path must be absolute', 'mayfly source cat web-1 /etc/hosts');
    const found = await connect().sources.read(args.name, args.path, { ...onHost(args), signal: io.signal });
    if (found.kind === 'file') {
      for await (const bytes of found.body) await io.write('stdout', bytes);
      return EXIT.ok;
    }
    const rows = found.items.map(({ mode, user, uid, size, mtime, name, type }) => {
      return [mode, user ?? String(uid), String(size), mtime, type === 'directory' ? `${name}/` : name];
    });
    for (const line of columns(['MODE', 'USER', 'BYTES', 'CHANGED', 'NAME'], rows)) io.print(line);
    return EXIT.ok;
  },
});

const HEADER = ['NAME', 'CLONEABLE', 'CPUS', 'MEMORY MiB', 'HOSTS'];

function row({ name, cloneable, problem, cpus, memoryMib, hosts }: Source): string[] {
  const whether = cloneable ? 'yes' : `no: ${problem ?? 'the host did not say why'}`;
  return [name, whether, String(cpus), String(memoryMib), hosts.join(', ')];
}

const NAME = { name: positional('Source (`mayfly source list`)') };

function printPower(io: Io, { name, hostId, state, guestAnswers }: SourcePower): undefined {
  io.print(`${io.paint('bold', printable(name))} on ${printable(hostId)}: ${state.replace('_', ' ')}`);
  if (guestAnswers === false) io.note('mayfly: its guest agent does not answer yet, which preparing needs');
  if (state === 'running' && guestAnswers === null) {
    io.note('mayfly: it has no channel for a guest agent, which preparing needs');
  }
}

function hasSettled({ state }: SourcePower): boolean {
  return state === 'running' || state === 'shut_off';
}

function taskCommand(task: 'prepare' | 'unprepare', description: string, goal: SourceAccess['state']) {
  return command({
    description,
    args: {
      name: positional('Source (`mayfly source list`)'),
      ...HOST_OPTION,
    },
    async call({ io, args, connect, options }) {
      const { sources } = connect();
      const doing = `${task === 'prepare' ? 'preparing' : 'unpreparing'} ${args.name}`;
      return withProgress(io, doing, () => sources[task](args.name, onHost(args), options));
    },
    print: accessLines,
    isDone: (record) => record.state === goal,
  });
}

export const sourceCommand = nounCommand({
  list: pagedCommand({
    description: 'List golden VMs and whether they can be cloned',
    table: { header: HEADER, row },
    read: ({ connect, options }) => connect().listSources(options),
  }),
  get: command({
    description: 'Show a source, and whether it can be cloned and looked at',
    args: { name: positional('Source (`mayfly source list`)') },
    call: ({ args, connect, options }) => connect().sources.get(args.name, options),
    print(io, source) {
      io.print(`cloneable: ${source.cloneable ? 'yes' : `no: ${printable(source.problem ?? 'not said why')}`}`);
      for (const baked of source.baked) for (const line of bakedLines(io, baked)) io.print(line);
      for (const access of source.access) for (const line of accessLines(io, access)) io.print(line);
      if (source.access.length === 0) io.print('never prepared for looking');
    },
  }),
  /** Done when its guest agent answers, or after a timeout. */
  start: command({
    description: 'Start a source that is shut off, unless something refers to its disks',
    args: { ...NAME, ...HOST_OPTION },
    call: ({ io, args, connect, options }) =>
      withProgress(io, `starting ${args.name}`, () => connect().sources.start(args.name, onHost(args), options)),
    print: printPower,
    isDone: hasSettled,
  }),
  stop: command({
    description: 'Shut a source down; its guest has three minutes',
    args: {
      ...NAME,
      force: { type: 'boolean', description: 'Pull its power cord: what it has not written yet is lost' },
      ...HOST_OPTION,
    },
    call({ io, args, connect, options }) {
      const request = { ...onHost(args), ...(args.force && { force: true }) };
      return withProgress(io, `stopping ${args.name}`, () => connect().sources.stop(args.name, request, options));
    },
    print: printPower,
    isDone: hasSettled,
  }),
  /** Done when it is a source of sandboxes. */
  bake: command({
    description: 'Make a source of a snapshot, cleaned of its identity and referring to nothing',
    args: {
      name: positional('What it shall be called'),
      from: { type: 'string', valueHint: 'snapshot', description: SNAPSHOT, required: true },
    },
    async call({ io, args, connect, options }) {
      snapshotIdOrName(args.from);
      const client = connect();
      const fromSnapshot = await findSnapshotId(client, args.from, io.signal);
      return client.sources.bake({ name: args.name, fromSnapshot }, options);
    },
    print: bakedLines,
    isDone: (baked) => baked.state !== 'baking',
  }),
  /** Refused while something refers to it. */
  delete: command({
    description: 'Delete a source that was baked, with its images',
    args: {
      name: positional('Source that was baked'),
      ...HOST_OPTION,
    },
    call: ({ args, connect, options }) => connect().sources.delete(args.name, { ...onHost(args), ...options }),
    print: bakedLines,
    isDone: (baked) => baked.state === 'deleted' || baked.state === 'failed',
  }),
  /** Makes inspections possible; prints the changes. */
  prepare: taskCommand(
    'prepare',
    'Make a running source one that can be looked at; changes it, and can be taken back',
    'prepared',
  ),
  unprepare: taskCommand('unprepare', 'Take back all that `prepare` changed on a source', 'unprepared'),
  run: runCommand,
  cat: catCommand,
});

/** Formats whether a source can be inspected, and the changes for it. */
export function accessLines(io: Io, access: SourceAccess): string[] {
  const { state, hostId, sshd, changes, preparedAt, preparedBy, failure, waitingFor } = access;
  return [
    `${io.paint('bold', access.name)} on ${printable(hostId)}: ${state}`,
    ...(preparedAt && preparedBy ? [`  by ${printable(preparedBy.apiKeyId)} at ${printable(preparedAt)}`] : []),
    ...(sshd && state === 'prepared' ? [`  host key ${printable(sshd.hostKey)} (${printable(sshd.version)})`] : []),
    ...changes.map((change) => `  changed: ${printable(change)}`),
    ...(failure ? [`  last failure: ${printable(failure.step)}: ${printable(failure.message)}`] : []),
    ...(waitingFor ? [`  waiting for ${printable(waitingFor)}`] : []),
  ];
}

/** Formats a baked source, with its snapshot and size; null fields are left out. */
export function bakedLines(io: Io, baked: BakedSource): string[] {
  const { name, hostId, state, snapshotId, sandboxId, createdBy, createdAt, image, failure, waitingFor } = baked;
  const shown = [
    `  baked of ${snapshotId}, a snapshot of ${sandboxId}`,
    `  by ${createdBy.apiKeyId} at ${createdAt}`,
    ...(image ? [`  takes ${size(image.sizeBytes)} on the host`] : []),
    ...(image?.disks ?? []).map(({ target, sha256 }) => `  ${target} sha256 ${sha256}`),
    ...(failure ? [`  last failure: ${failure.step}: ${failure.message}`] : []),
    ...(waitingFor ? [`  waiting for ${waitingFor}`] : []),
  ];
  return [`${io.paint('bold', printable(name))} on ${printable(hostId)}: ${state}`, ...shown.map(printable)];
}
