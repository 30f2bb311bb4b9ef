import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { createCommand } from './create.ts';
import { deleteCommand } from './delete.ts';
import { getCommand } from './get.ts';
import { listCommand } from './list.ts';

/** `mayfly capture create|list|get|delete` */
export function captureCommand(io: Io) {
  return defineCommand({
    subCommands: {
      create: createCommand(io),
      list: listCommand(io),
      get: getCommand(io),
      delete: deleteCommand(io),
    },
  });
}
