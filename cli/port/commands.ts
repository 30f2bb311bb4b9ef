import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { forwardCommand } from './forward.ts';
import { closeCommand, listCommand, openCommand, tokenCommand } from './open-port.ts';

/** `mayfly port forward|open|list|token|close` */
export function portCommand(io: Io) {
  return defineCommand({
    subCommands: {
      forward: forwardCommand(io),
      open: openCommand(io),
      list: listCommand(io),
      token: tokenCommand(io),
      close: closeCommand(io),
    },
  });
}
