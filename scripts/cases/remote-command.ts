import { randomBytes } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { commandIdFrom, ID_BYTES } from '../../model/ids.ts';
import { FrameReader } from '../../model/sandbox/output-frame.ts';
import { LocalAgent } from './agent.ts';
import { type Case, isRecord, type Problem, stringField } from './case.ts';

/** Runs the command on the real guest agent, started for this case, as the user who runs the cases. */
export async function remoteCommandGroup(one: Case): Promise<Problem> {
  if (!isRecord(one.expected)) throw new TypeError('expected is not an object');
  const { no_side_effect: untouched, ...expected } = one.expected;
  const before = typeof untouched === 'string' ? await traceOf(untouched) : null;
  const came = await resultOf(one.input);
  const holds = Object.entries(expected).every(([key, value]) => isDeepStrictEqual(Reflect.get(came, key), value));
  if (!holds) return { expected: JSON.stringify(expected), came: JSON.stringify(came) };
  if (typeof untouched === 'string' && (await traceOf(untouched)) !== before) {
    return { expected: `${untouched} untouched`, came: 'it was made or changed' };
  }
  return null;
}

async function resultOf(input: unknown): Promise<{ stdout: string; stderr: string; exit_code: unknown }> {
  const env = isRecord(input) ? input['env'] : undefined;
  const path = `/v1/commands/${commandIdFrom(randomBytes(ID_BYTES))}`;
  const agent = await LocalAgent.start();
  try {
    const what = { command: stringField(input, 'command'), argv: null, env: env ?? {}, cwd: null, user: null };
    const limits = { timeoutSeconds: 30, maxOutputBytes: 1_048_576 };
    await agent.request('PUT', path, { ...what, ...limits, stdin: '', stdinOpen: false });
    return read(await agent.request('GET', `${path}/output`));
  } finally {
    await agent.stop();
  }
}

function read(output: Buffer): { stdout: string; stderr: string; exit_code: unknown } {
  const printed: Record<string, Uint8Array[]> = { stdout: [], stderr: [] };
  let exit: unknown = null;
  for (const item of new FrameReader().push(output)) {
    if ('exit' in item) exit = JSON.parse(item.exit);
    else printed[item.stream]?.push(item.bytes);
  }
  const text = (stream: string) => Buffer.concat(printed[stream] ?? []).toString();
  return { stdout: text('stdout'), stderr: text('stderr'), exit_code: isRecord(exit) ? exit['exitCode'] : null };
}

/** Returns a value that changes with any change of the file; null when there is none. */
async function traceOf(path: string): Promise<string | null> {
  const about = await lstat(path).catch(() => null);
  return about && `${about.ino} ${about.mtimeMs} ${about.ctimeMs}`;
}
