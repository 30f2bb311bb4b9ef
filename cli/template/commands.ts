import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { listCommand } from './list.ts';
import { makeCommand } from './make.ts';
import { removeCommand } from './remove.ts';
import { showCommand } from './show.ts';

/** `mayfly template list|show|make|rm` */
export function templateCommand(io: Io) {
  return defineCommand({
    subCommands: {
      list: listCommand(io),
      show: showCommand(io),
      make: makeCommand(io),
      rm: removeCommand(io),
    },
  });
}
