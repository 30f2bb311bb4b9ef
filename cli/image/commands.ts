import { nounCommand } from '../terminal/command.ts';
import { buildCommand } from './build.ts';
import { buildsCommand, cancelCommand, showCommand } from './builds.ts';
import { listCommand } from './list.ts';
import { pullCommand } from './pull.ts';

/** `mayfly image build|builds|get|cancel`, of Dockerfiles; `mayfly image list|pull`, of golden images */
export const imageCommand = nounCommand({
  build: buildCommand,
  builds: buildsCommand,
  get: showCommand,
  cancel: cancelCommand,
  list: listCommand,
  pull: pullCommand,
});
