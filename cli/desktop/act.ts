import type { DesktopAction } from '../../client/sandbox/desktop.ts';
import { LIMITS } from '../../model/limits.ts';
import { idOrName, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT, type ExitCode } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

/** What every command of a desktop takes first. */
export const ID = { type: 'positional', description: 'Id or name of a sandbox', required: true } as const;

export const ACT_ARGS = { id: ID, ...JSON_OPTION } as const;

/** Does it, and says nothing where nobody asks for JSON. */
export async function acted(io: Io, args: { id: string; json: boolean }, action: DesktopAction): Promise<ExitCode> {
  const size = await connect(io).desktop.act(idOrName(args.id), action, { signal: io.signal });
  if (args.json) io.printJson(size);
  return EXIT.ok;
}

/** `640,400` @throws CliError */
export function place(text: string): { x: number; y: number } {
  const [, x, y] = /^(\d{1,5}),(\d{1,5})$/.exec(text) ?? [];
  const { max } = LIMITS.desktop.coordinate;
  if (x !== undefined && Number(x) <= max && Number(y) <= max) return { x: Number(x), y: Number(y) };
  throw usageError(`${JSON.stringify(text)} is no place`, 'Pixels from the left and the top, such as 640,400.');
}
