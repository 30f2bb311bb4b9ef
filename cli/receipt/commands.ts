import { join } from 'node:path';
import { readConfig } from '../../worker/config/config.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import { command, customCommand, nounCommand } from '../terminal/command.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import { printable } from '../terminal/printable.ts';
import { getCommand } from './get.ts';
import { verifyCommand } from './verify.ts';

/** `mayfly receipt` */
export const receiptCommand = nounCommand({
  get: getCommand,
  verify: verifyCommand,
  /** PEM, so that a file of it is what `verify --key` takes. */
  keys: customCommand({
    description: 'Print the public keys that verify receipts, the newest first',
    args: JSON_OPTION,
    async run({ io, args, connect, options }) {
      const keys = await connect().runs.receiptKeys(options);
      if (args.json) io.printJson(keys);
      for (const { keyid, publicKey, since } of args.json ? [] : keys) {
        io.print(`# ${printable(keyid)} since ${printable(since)}`);
        for (const line of publicKey.trimEnd().split('\n')) io.print(printable(line));
      }
    },
  }),
  /** Makes the private key, so it runs where the control worker does. */
  rotate: command({
    description: 'Have another key sign receipts from now on; those that are signed stay valid',
    async call({ io }) {
      const { replaceReceiptKey } = await import('../../ca/receipt-key.ts');
      const path = join(readConfig(io.env).stateDir, 'control', 'receipt.key');
      const { keyid, publicKey } = await replaceReceiptKey(path);
      return { keyid, publicKey };
    },
    print: (_io, { publicKey }) => publicKey.trimEnd(),
    exit({ keyid }, io) {
      io.note(`${keyid} signs within seconds; keep the public keys from before: they verify what they have signed`);
      return EXIT.ok;
    },
  }),
});
