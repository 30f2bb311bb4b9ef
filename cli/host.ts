import { defineCommand } from 'citty';
import type { Host } from '../client/mayfly-client.ts';
import { checkArguments } from './terminal/arguments.ts';
import { connect } from './terminal/connection.ts';
import { EXIT } from './terminal/exit-codes.ts';
import type { Io } from './terminal/io.ts';
import { LIST_OPTION, printList } from './terminal/list.ts';

/** A host that was not heard of lately is `away`: no sandbox is placed on it. */
function row(host: Host): string[] {
  return [
    host.id,
    host.kind,
    host.isolation,
    host.live ? 'live' : 'away',
    String(host.promised.sandboxes),
    `${host.capacity.memoryAvailableMib}/${host.capacity.memoryTotalMib}`,
    `${gib(host.capacity.diskAvailableBytes)}/${gib(host.capacity.diskTotalBytes)}`,
    host.lastSeenAt,
  ];
}

function gib(bytes: number): string {
  return (bytes / 1_073_741_824).toFixed(1);
}

const HEADER = ['ID', 'KIND', 'ISOLATION', 'STATE', 'SANDBOXES', 'MEMORY MiB', 'DISK GiB', 'LAST SEEN'];

/** `mayfly host list` */
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
  return defineCommand({ meta: { name: 'host', description: 'Hosts' }, subCommands: { list } });
}
