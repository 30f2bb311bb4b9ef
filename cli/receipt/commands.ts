import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { getCommand } from './get.ts';
import { keysCommand } from './keys.ts';
import { rotateCommand } from './rotate.ts';
import { verifyCommand } from './verify.ts';

/** `mayfly receipt` */
export function receiptCommand(io: Io) {
  return defineCommand({
    subCommands: {
      get: getCommand(io),
      verify: verifyCommand(io),
      keys: keysCommand(io),
      rotate: rotateCommand(io),
    },
  });
}
