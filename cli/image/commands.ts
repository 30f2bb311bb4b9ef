import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { buildCommand } from './build.ts';
import { buildsCommand, cancelCommand, showCommand } from './builds.ts';
import { listCommand } from './list.ts';
import { pullCommand } from './pull.ts';

/** `mayfly image build|builds|show|cancel`, of Dockerfiles; `mayfly image list|pull`, of golden images */
export function imageCommand(io: Io) {
  return defineCommand({
    subCommands: {
      build: buildCommand(io),
      builds: buildsCommand(io),
      show: showCommand(io),
      cancel: cancelCommand(io),
      list: listCommand(io),
      pull: pullCommand(io),
    },
  });
}
