import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { buildCommand } from './build.ts';
import { listCommand } from './list.ts';
import { pullCommand } from './pull.ts';

/** `mayfly image build|list|pull` */
export function imageCommand(io: Io) {
  return defineCommand({
    meta: { name: 'image', description: 'Sources of Dockerfiles, and golden images that this machine can build' },
    subCommands: { build: buildCommand(io), list: listCommand(io), pull: pullCommand(io) },
  });
}
