import { type ArgsDef, defineCommand } from 'citty';
import type { Host } from '../../client/mayfly-client.ts';
import { checkArguments, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { printable } from '../terminal/printable.ts';

/** A host that was not heard of lately is `away`: no sandbox is placed on it. */
function row(host: Host): string[] {
  return [
    host.id,
    host.kind,
    host.isolation,
    stateOf(host),
    String(host.promised.sandboxes),
    String(host.poolMembers),
    String(host.templates),
    `${host.capacity.memoryAvailableMib}/${host.capacity.memoryTotalMib}`,
    `${gib(host.capacity.diskAvailableBytes)}/${gib(host.capacity.diskTotalBytes)}`,
    host.lastSeenAt,
  ];
}

function stateOf({ live, drainedAt, forgottenAt }: Host): string {
  const said = forgottenAt ? 'forgotten' : drainedAt ? 'drained' : null;
  return [live ? 'live' : 'away', ...(said ? [said] : [])].join(', ');
}

function gib(bytes: number): string {
  return (bytes / 1_073_741_824).toFixed(1);
}

const HEADER = [
  'ID',
  'KIND',
  'ISOLATION',
  'STATE',
  'SANDBOXES',
  'OF POOLS',
  'TEMPLATES',
  'MEMORY MiB',
  'DISK GiB',
  'LAST SEEN',
];

const HOST = {
  id: { type: 'positional', description: 'Id of a host', required: true },
  ...JSON_OPTION,
} as const satisfies ArgsDef;
const FORGET = {
  ...HOST,
  ...WAIT_OPTION,
  yes: { type: 'boolean', description: 'Yes, it is lost for good', default: false },
} as const satisfies ArgsDef;

/** `mayfly host drain`, and `mayfly host resume`, which takes it back. */
function drainCommand(io: Io, name: 'drain' | 'resume', description: string) {
  return defineCommand({
    meta: { name, description },
    args: HOST,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, HOST);
      const host = await connect(io).drainHost(args.id, name === 'drain', { signal: io.signal });
      const on = `${host.promised.sandboxes} live on it`;
      if (args.json) io.printJson(host);
      else
        io.print(
          `${printable(host.id)} is ${host.drainedAt ? 'drained: it gets no new sandboxes' : 'in use again'}; ${on}`,
        );
      return EXIT.ok;
    },
  });
}

/** `mayfly host forget` */
function forgetCommand(io: Io) {
  return defineCommand({
    meta: { name: 'forget', description: 'Give up a host that is lost for good; its sandboxes end, unproved' },
    args: FORGET,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, FORGET);
      if (!args.yes) {
        const why = `its sandboxes end, and that nothing of them is left on ${args.id} stays unproved`;
        throw usageError(
          `${why}; its snapshots, captures and baked sources are given up too`,
          'Add --yes if it is lost for good.',
        );
      }
      const waitSecondsOf = waitSeconds(args.wait);
      const host = await connect(io).forgetHost(args.id, { waitSeconds: waitSecondsOf, signal: io.signal });
      if (args.json) io.printJson(host);
      else io.print(`${printable(host.id)} is forgotten; what was on it ended ${io.paint('red', 'unproved')}`);
      return EXIT.ok;
    },
  });
}

/** `mayfly host list`, `drain`, `resume`, `forget` */
export function hostCommand(io: Io) {
  const list = defineCommand({
    meta: { name: 'list', description: 'List hosts and what is free on them' },
    args: LIST_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST_OPTION);
      const client = connect(io);
      await printList(io, args, { header: HEADER, row }, (page) => client.listHosts(page));
      return EXIT.ok;
    },
  });
  return defineCommand({
    subCommands: {
      list,
      drain: drainCommand(io, 'drain', 'Give a host no new sandboxes; what lives on it lives on'),
      resume: drainCommand(io, 'resume', 'Give a drained host sandboxes again'),
      forget: forgetCommand(io),
    },
  });
}
