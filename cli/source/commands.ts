import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { bakeCommand } from './bake.ts';
import { catCommand } from './cat.ts';
import { deleteCommand } from './delete.ts';
import { listCommand } from './list.ts';
import { startCommand, stopCommand } from './power.ts';
import { prepareCommand, unprepareCommand } from './prepare.ts';
import { runCommand } from './run.ts';
import { showCommand } from './show.ts';

/** `mayfly source list|show|start|stop|bake|delete|prepare|unprepare|run|cat` */
export function sourceCommand(io: Io) {
  return defineCommand({
    subCommands: {
      list: listCommand(io),
      show: showCommand(io),
      start: startCommand(io),
      stop: stopCommand(io),
      bake: bakeCommand(io),
      delete: deleteCommand(io),
      prepare: prepareCommand(io),
      unprepare: unprepareCommand(io),
      run: runCommand(io),
      cat: catCommand(io),
    },
  });
}
