import { readConfig } from '../../worker/config/config.ts';
import { EXIT } from '../terminal/cli-error.ts';
import { customCommand, nounCommand } from '../terminal/command.ts';

/** `mayfly store encrypt`: needs the payload key, and a user of the store with write access to everything. */
const encryptCommand = customCommand({
  description: 'Encrypt what another key has written with the key that encrypts now',
  async run({ io }) {
    const { reencryptStore: resealStore } = await import('../../worker/servers/store-commands.ts');
    const { sealed, unreadable } = await resealStore(readConfig(io.env));
    io.print(
      sealed === 0 ? 'all was encrypted with the key that encrypts now' : `${sealed} documents are encrypted anew`,
    );
    for (const { why } of unreadable) io.print(`left as it is: ${why}`);
    return unreadable.length === 0 ? EXIT.ok : EXIT.failed;
  },
});

/** `mayfly store copy`: moves from one machine to several (docs/deploy.md). */
const copyCommand = customCommand({
  description: 'Copy the store of `mayfly up`, stopped, into the empty one of MONGODB_URI',
  async run({ io }) {
    const { copyOwnStore } = await import('../../worker/servers/store-commands.ts');
    io.print(`${await copyOwnStore(readConfig(io.env))} documents are copied`);
  },
});

export const storeCommand = nounCommand({ encrypt: encryptCommand, copy: copyCommand });
