import { join } from 'node:path';
import { defineCommand } from 'citty';
import { readConfig } from '../../worker/config/config.ts';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

/** `mayfly receipt rotate`: makes the private key, so it runs where the control worker does. */
export function rotateCommand(io: Io) {
  return defineCommand({
    meta: {
      name: 'rotate',
      description: 'Have another key sign receipts from now on; those that are signed stay valid',
    },
    args: JSON_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, JSON_OPTION);
      const { replaceReceiptKey } = await import('../../ca/receipt-key.ts');
      const path = join(readConfig(io.env).stateDir, 'control', 'receipt.key');
      const { keyid, publicKey } = await replaceReceiptKey(path);
      if (args.json) io.printJson({ keyid, publicKey });
      else io.print(publicKey.trimEnd());
      io.note(`${keyid} signs within seconds; keep the public keys from before: they verify what they have signed`);
      return EXIT.ok;
    },
  });
}
