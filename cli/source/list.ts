import { defineCommand } from 'citty';
import type { Source } from '../../client/sources.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';

const HEADER = ['NAME', 'CLONEABLE', 'CPUS', 'MEMORY MiB', 'HOSTS'];

function row({ name, cloneable, problem, cpus, memoryMib, hosts }: Source): string[] {
  const whether = cloneable ? 'yes' : `no: ${problem ?? 'the host did not say why'}`;
  return [name, whether, String(cpus), String(memoryMib), hosts.join(', ')];
}

/** `mayfly source list` */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List golden VMs and whether they can be cloned' },
    args: LIST_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST_OPTION);
      const client = connect(io);
      await printList(io, args, { header: HEADER, row }, (page) => client.listSources(page));
      return EXIT.ok;
    },
  });
}
