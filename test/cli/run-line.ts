import { Readable } from 'node:stream';
import { runCli } from '../../cli/main.ts';
import { Io } from '../../cli/terminal/io.ts';
import { answerJson, type StandIn } from '../clients/typescript/stand-in.ts';

export interface LineOptions {
  /** `@default` of the stand-in */
  env?: NodeJS.ProcessEnv;
  controller?: AbortController;
  /** Piped standard input. `@default` none */
  stdin?: string;
  /** Makes both streams a terminal. `@default` false */
  isTTY?: boolean;
}

/** Makes a terminal that prints nowhere. */
export function quietIo(signal = new AbortController().signal): Io {
  const sink = { write: () => true };
  return new Io({ stdout: sink, stderr: sink, env: {}, signal, force: signal });
}

/** Runs a command line in this process, against an API. */
export async function runLine(server: { url: string }, args: string[], options: LineOptions = {}) {
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  const { isTTY = false, controller, stdin: text } = options;
  const stdin = {
    isPiped: text !== undefined,
    open: () => Readable.from(text === undefined ? [] : [Buffer.from(text)]),
  };
  const { signal } = controller ?? new AbortController();
  const env = options.env ?? { MAYFLY_URL: server.url, MAYFLY_API_KEY: 'mfk_secret' };
  const stdout = { isTTY, write: (bytes: string | Uint8Array) => out.push(Buffer.from(bytes as Uint8Array)) };
  const stderr = { isTTY, write: (bytes: string | Uint8Array) => err.push(Buffer.from(bytes as Uint8Array)) };
  const code = await runCli(args, new Io({ stdout, stderr, stdin, env, signal, force: signal }));
  const bytes = Buffer.concat(out);
  return { code, bytes, out: bytes.toString(), err: Buffer.concat(err).toString() };
}

/** Runs a command line with one fake answer. @returns also its first request; undefined: none */
export async function askedBy(server: StandIn, args: string[], body: object) {
  server.answers((_request, response) => answerJson(response, 200, body));
  const { code, out } = await runLine(server, args);
  const [asked] = server.seen;
  return { code, out, asked: asked && `${asked.method} ${asked.path} ${asked.body}` };
}
