import { type ArgsDef, defineCommand } from 'citty';
import { readConfig } from '../../worker/config/config.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

const ARGS = {
  reason: { type: 'positional', description: 'Why these entries are lost; it stays in the register', required: true },
} as const satisfies ArgsDef;

/** `mayfly audit accept`: needs the audit key, so it runs where the control worker does. */
export function acceptCommand(io: Io) {
  return defineCommand({
    meta: {
      name: 'accept',
      description:
        'Have the register say that its missing entries are lost, as after a store was restored from a backup',
    },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const { acceptLoss } = await import('../../worker/upkeep/audit.ts');
      const gaps = await acceptLoss(readConfig(io.env), args.reason);
      io.print(gaps === 0 ? 'nothing is missing in the register' : `${gaps} gaps in the register are accepted`);
      return EXIT.ok;
    },
  });
}
