import type { ArgsDef, ParsedArgs } from 'citty';
import type { DesktopAction } from '../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../model/limits.ts';
import { idOrName, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';

/** What every command of a desktop takes first. */
export const ID = { type: 'positional', description: 'Id or name of a sandbox', required: true } as const;

export const ACT_ARGS = { id: ID, ...JSON_OPTION } as const;

/** Defines a command that acts on a screen, and prints nothing unless JSON is asked for. */
export function actCommand<const A extends ArgsDef>(spec: {
  description: string;
  args: A;
  action: (args: ParsedArgs<A>) => DesktopAction | Promise<DesktopAction>;
}) {
  return command({
    description: spec.description,
    args: { id: ID, ...spec.args },
    call: async ({ args, connect, options }) =>
      connect().desktop.act(idOrName(String(args['id'])), await spec.action(args as ParsedArgs<A>), options),
    print: () => [],
  });
}

/** `640,400` @throws CliError */
export function place(text: string): { x: number; y: number } {
  const [, x, y] = /^(\d{1,5}),(\d{1,5})$/.exec(text) ?? [];
  const { max } = LIMITS.desktop.coordinate;
  if (x !== undefined && Number(x) <= max && Number(y) <= max) return { x: Number(x), y: Number(y) };
  throw usageError(`${JSON.stringify(text)} is no place`, 'Pixels from the left and the top, such as 640,400.');
}
