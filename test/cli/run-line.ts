import { runCli } from '../../cli/main.ts';
import { Io } from '../../cli/terminal/io.ts';
import type { StandIn } from '../client/stand-in.ts';

export interface LineOptions {
  /** `@default` the way to the stand-in */
  env?: NodeJS.ProcessEnv;
  controller?: AbortController;
}

/** Runs a command line in this process, against a stand-in for the API. */
export async function runLine(server: StandIn, args: string[], options: LineOptions = {}) {
  const [out, err]: [string[], string[]] = [[], []];
  const { signal } = options.controller ?? new AbortController();
  const env = options.env ?? { MAYFLY_URL: server.url, MAYFLY_API_KEY: 'mfk_secret' };
  const stdout = { write: (text: string | Uint8Array) => out.push(Buffer.from(text).toString()) };
  const stderr = { write: (text: string | Uint8Array) => err.push(Buffer.from(text).toString()) };
  const code = await runCli(args, new Io({ stdout, stderr, env, signal, force: signal }));
  return { code, out: out.join(''), err: err.join('') };
}
