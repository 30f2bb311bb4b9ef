import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { createCommand } from './create.ts';
import { destroyCommand } from './destroy.ts';
import { extendCommand } from './extend.ts';
import { getCommand } from './get.ts';
import { listCommand } from './list.ts';
import { waitCommand } from './wait.ts';

/** `mayfly sandbox create|list|get|wait|extend|destroy` */
export function sandboxCommand(io: Io) {
  return defineCommand({
    subCommands: {
      create: createCommand(io),
      list: listCommand(io),
      get: getCommand(io),
      wait: waitCommand(io),
      extend: extendCommand(io),
      destroy: destroyCommand(io),
    },
  });
}
