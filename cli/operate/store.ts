import { defineCommand } from 'citty';
import { readConfig } from '../../worker/config/config.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

/** `mayfly store` */
export function storeCommand(io: Io) {
  return defineCommand({
    subCommands: { encrypt: encryptCommand(io), copy: copyCommand(io) },
  });
}

/** `mayfly store encrypt`: needs the payload key, and a user of the store that may change everything. */
function encryptCommand(io: Io) {
  return defineCommand({
    meta: {
      name: 'encrypt',
      description: 'Encrypt what an earlier version, or an earlier key, has written, with the key that encrypts now',
    },
    async run({ rawArgs }) {
      checkArguments(rawArgs, {});
      const { resealStore } = await import('../../worker/servers/reseal-store.ts');
      const { sealed, unreadable } = await resealStore(readConfig(io.env));
      io.print(
        sealed === 0 ? 'all was encrypted with the key that encrypts now' : `${sealed} documents are encrypted anew`,
      );
      for (const { why } of unreadable) io.print(`left as it is: ${why}`);
      return unreadable.length === 0 ? EXIT.ok : EXIT.failed;
    },
  });
}

/** `mayfly store copy`: from one machine to several (docs/several-machines.md). */
function copyCommand(io: Io) {
  return defineCommand({
    meta: { name: 'copy', description: 'Copy the store of `mayfly up`, stopped, into the empty one of MONGODB_URI' },
    async run({ rawArgs }) {
      checkArguments(rawArgs, {});
      const { copyOwnStore } = await import('../../worker/servers/copy-store.ts');
      io.print(`${await copyOwnStore(readConfig(io.env))} documents are copied`);
      return EXIT.ok;
    },
  });
}
