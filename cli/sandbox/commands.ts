import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { createCommand } from './create.ts';
import { destroyCommand } from './destroy.ts';
import { getCommand } from './get.ts';
import { listCommand } from './list.ts';
import { setCommand } from './set.ts';
import { waitCommand } from './wait.ts';

/** `mayfly sandbox create|list|get|wait|set|extend|destroy` */
export function sandboxCommand(io: Io) {
  return defineCommand({
    subCommands: {
      create: createCommand(io),
      list: listCommand(io),
      get: getCommand(io),
      wait: waitCommand(io),
      set: setCommand(io, 'set'),
      extend: setCommand(io, 'extend'),
      destroy: destroyCommand(io),
    },
  });
}
