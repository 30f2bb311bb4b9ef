import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

interface StateCommand<T> {
  act: string;
  description: string;
  /** What it is done to. */
  named: { name: { type: 'positional'; description: string; required: true } };
  change: (name: string) => Promise<T>;
  said: (changed: T) => string;
}

/** A command that changes the state of what it names, and says how that is now. */
export function stateCommand<T>(io: Io, { act, description, named, change, said }: StateCommand<T>) {
  const args = { ...named, ...JSON_OPTION } as const satisfies ArgsDef;
  return defineCommand({
    meta: { name: act, description },
    args,
    async run({ args: given, rawArgs }) {
      checkArguments(rawArgs, args);
      const changed = await change(given.name);
      if (given.json) io.printJson(changed);
      else io.print(said(changed));
      return EXIT.ok;
    },
  });
}
