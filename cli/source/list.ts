import { defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { columns } from '../terminal/columns.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

/** `mayfly source list` */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List golden VMs and whether they can be cloned' },
    args: JSON_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, JSON_OPTION);
      const page = await connect(io).listSources({ signal: io.signal });
      const rows = page.items.map((source) => [
        source.name,
        source.cloneable ? 'yes' : `no: ${source.problem ?? 'the host did not say why'}`,
        String(source.cpus),
        String(source.memoryMib),
        source.hosts.join(', '),
      ]);
      if (args.json) io.printJson(page);
      else for (const line of columns(['NAME', 'CLONEABLE', 'CPUS', 'MEMORY MiB', 'HOSTS'], rows)) io.print(line);
      return EXIT.ok;
    },
  });
}
