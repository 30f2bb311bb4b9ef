import type { Host } from '../../clients/typescript/http/openapi.ts';
import { flag, positional, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { printable } from '../terminal/io.ts';

/** Formats a host; a silent one is `away`: no sandbox is placed on it. */
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

const HOST = { id: positional('Id of a host') };

/** Makes `mayfly host drain`, and `mayfly host resume`, its inverse. */
function drainCommand(name: 'drain' | 'resume', description: string) {
  return command({
    description,
    args: HOST,
    call: ({ args, connect, options }) => connect().drainHost(args.id, name === 'drain', options),
    print: (_io, host) =>
      `${printable(host.id)} is ${host.drainedAt ? 'drained: it gets no new sandboxes' : 'in use again'}; ${host.promised.sandboxes} live on it`,
  });
}

const forgetCommand = command({
  description: 'Give up a host that is lost for good; its sandboxes end, unproved',
  args: {
    ...HOST,
    ...WAIT_OPTION,
    yes: flag('Yes, it is lost for good'),
  },
  async call({ io, args, connect }) {
    if (!args.yes) {
      const why = `its sandboxes end, and that nothing of them is left on ${args.id} stays unproved`;
      throw usageError(
        `${why}; its snapshots, captures and baked sources are given up too`,
        'Add --yes if it is lost for good.',
      );
    }
    return connect().forgetHost(args.id, { waitSeconds: waitSeconds(args.wait), signal: io.signal });
  },
  print: (io, host) => `${printable(host.id)} is forgotten; what was on it ended ${io.paint('red', 'unproved')}`,
});

export const hostCommand = nounCommand({
  list: pagedCommand({
    description: 'List hosts and what is free on them',
    table: { header: HEADER, row },
    read: ({ connect, options }) => connect().listHosts(options),
  }),
  drain: drainCommand('drain', 'Give a host no new sandboxes; what lives on it lives on'),
  resume: drainCommand('resume', 'Give a drained host sandboxes again'),
  forget: forgetCommand,
});
