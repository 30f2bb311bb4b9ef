import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { deleteCommand } from './delete.ts';
import { listCommand } from './list.ts';
import { setCommand } from './set.ts';
import { showCommand } from './show.ts';

/** `mayfly secret set|list|show|delete` */
export function secretCommand(io: Io) {
  return defineCommand({
    subCommands: { set: setCommand(io), list: listCommand(io), show: showCommand(io), delete: deleteCommand(io) },
  });
}
