import { nounCommand } from '../terminal/command.ts';
import { createCommand } from './create.ts';
import { destroyCommand } from './destroy.ts';
import { getCommand } from './get.ts';
import { listCommand } from './list.ts';
import { setCommand } from './set.ts';
import { waitCommand } from './wait.ts';

/** `mayfly sandbox create|list|get|wait|update|delete` */
export const sandboxCommand = nounCommand(
  {
    create: createCommand,
    list: listCommand,
    get: getCommand,
    wait: waitCommand,
    update: setCommand,
    delete: destroyCommand,
  },
  { update: ['set', 'extend'], delete: ['destroy'] },
);
