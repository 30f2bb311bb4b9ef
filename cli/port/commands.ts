import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { forwardCommand } from './forward.ts';

/** `mayfly port forward` */
export function portCommand(io: Io) {
  return defineCommand({
    meta: { name: 'port', description: 'Ports of sandboxes' },
    subCommands: { forward: forwardCommand(io) },
  });
}
