import { defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

/** `mayfly receipt keys`: PEM, so that a file of it is what `verify --key` takes. */
export function keysCommand(io: Io) {
  return defineCommand({
    meta: { name: 'keys', description: 'Print the public keys that verify receipts, the newest first' },
    args: JSON_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, JSON_OPTION);
      const keys = await connect(io).runs.receiptKeys({ signal: io.signal });
      if (args.json) io.printJson(keys);
      for (const { keyid, publicKey, since } of args.json ? [] : keys) {
        io.print(`# ${printable(keyid)} since ${printable(since)}`);
        for (const line of publicKey.trimEnd().split('\n')) io.print(printable(line));
      }
      return EXIT.ok;
    },
  });
}
