import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { completeCommand } from './complete.ts';
import { createCommand } from './create.ts';
import { listCommand } from './list.ts';

/** `mayfly waitpoint create|list|complete` */
export function waitpointCommand(io: Io) {
  return defineCommand({
    subCommands: { create: createCommand(io), list: listCommand(io), complete: completeCommand(io) },
  });
}
