import type { Template } from '../../clients/typescript/http/openapi.ts';
import { isSnapshotId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { waitSignal } from '../sandbox/sandbox-text.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { HOST_OPTION, onHost } from '../source/host-option.ts';
import {
  createCheck,
  mebibytes,
  option,
  positional,
  WAIT_OPTION,
  waitSeconds,
  wholeNumber,
} from '../terminal/arguments.ts';
import { EXIT } from '../terminal/cli-error.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { followRecord, type Io, recordLines, withProgress } from '../terminal/io.ts';

/** Check of a template id, which is the id of its snapshot. */
const templateId = createCheck(isSnapshotId, 'is not a template id', 'List them with `mayfly template list`.');

function isUnderWay({ state }: Template): boolean {
  return state === 'building' || state === 'verifying';
}

const HEADER = ['ID', 'STATE', 'SOURCE', 'MACHINE', 'HOST', 'TAKES', 'WAKES', 'SAVED'];

function row({ id, state, source, cpus, memoryMib, hostId, sizeBytes, wakes, savedAt }: Template): string[] {
  const machine = `${cpus ?? '-'}/${memoryMib ?? '-'}`;
  return [id, state, source, machine, hostId, sizeBytes === null ? '-' : size(sizeBytes), `${wakes}`, savedAt ?? '-'];
}

export const templateCommand = nounCommand(
  {
    /** Done when sandboxes can restore from it. */
    create: command({
      description: 'Boot a guest, save its memory, and try to wake from it',
      args: {
        source: positional('Name of the golden VM (`mayfly source list`)'),
        cpus: option("Virtual CPUs, else the source's"),
        memory: option("Memory, such as 512M or 2G, else the source's", '512M'),
        ...HOST_OPTION,
        ...WAIT_OPTION,
      },
      async call({ io, args, connect, options }) {
        const { cpus } = LIMITS;
        const request = {
          source: args.source,
          ...onHost(args),
          ...(args.cpus && { cpus: wholeNumber('cpus', args.cpus, cpus.min, cpus.max) }),
          ...(args.memory && { memoryMib: mebibytes('memory', args.memory, LIMITS.memoryMib) }),
        };
        const client = connect();
        const begun = await client.templates.make(request, options);
        const { signal } = waitSignal(io, waitSeconds(args.wait));
        return withProgress(io, `making a template of ${args.source}`, () =>
          followRecord(begun, {
            show: () => undefined,
            isOver: (template) => !isUnderWay(template),
            read: ({ id }) => client.templates.get(id, { signal }),
            signal,
          }),
        );
      },
      print: templateLines,
      exit(template, io) {
        if (template.state === 'ready') return EXIT.ok;
        if (isUnderWay(template)) return io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong;
        return EXIT.failed;
      },
    }),
    /** Existing ones, newest first. */
    list: pagedCommand({
      description: 'List templates, newest first',
      table: { header: HEADER, row },
      read: ({ connect, options }) => connect().templates.list(options),
    }),
    get: command({
      description: 'Show a template',
      args: { id: positional('Template id') },
      call: ({ args, connect, options }) => connect().templates.get(templateId(args.id), options),
      print: templateLines,
    }),
    /** Done when no sandbox restores from it. */
    delete: command({
      description: 'Have a template go; what woke from it lives on',
      args: { id: positional('Template id') },
      call: ({ args, connect, options }) => connect().templates.delete(templateId(args.id), options),
      print: templateLines,
      isDone: (template) => template.state === 'gone',
    }),
  },
  { create: ['make'] },
);

/** Formats a template for a person; null fields are left out. */
export function templateLines(io: Io, template: Template): string[] {
  const { cpus, memoryMib, sizeBytes, lastUsedAt, wakes } = template;
  const machine = [cpus && `${cpus} CPUs`, memoryMib && `${memoryMib} MiB`].filter(Boolean).join(', ');
  const fields: [string, string | null][] = [
    ['state', template.state],
    ['of', template.source],
    ['machine', machine === '' ? "the source's" : machine],
    ['project', template.project],
    ['host', template.hostId],
    ['saved', template.savedAt],
    ['takes', sizeBytes === null ? null : `${size(sizeBytes)} on the host`],
    ['woken', `${wakes} times${lastUsedAt ? `, last at ${lastUsedAt}` : ''}`],
    ['waits for', template.waitingFor],
    ['reason', template.reason],
    ['again', template.retryAt && `when it is asked for, not before ${template.retryAt}`],
  ];
  return recordLines(io, template.id, fields);
}
