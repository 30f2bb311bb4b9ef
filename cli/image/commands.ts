import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { listCommand } from './list.ts';
import { pullCommand } from './pull.ts';

/** `mayfly image list|pull` */
export function imageCommand(io: Io) {
  return defineCommand({
    meta: { name: 'image', description: 'Golden images that this machine can build' },
    subCommands: { list: listCommand(io), pull: pullCommand(io) },
  });
}
