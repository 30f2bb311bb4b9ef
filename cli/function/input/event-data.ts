import { randomUUID } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { ArgsDef } from 'citty';
import type { Run } from '../../../clients/typescript/http/openapi.ts';
import { MayflyConnectionError } from '../../../clients/typescript/http/problem.ts';
import type { CreateRun } from '../../../clients/typescript/run-options.ts';
import type { Runs } from '../../../clients/typescript/runs.ts';
import { orAbsent } from '../../../host/os/absent.ts';
import { RawJson } from '../../../model/events/json/raw-json.ts';
import { LIMITS } from '../../../model/limits.ts';
import { option } from '../../terminal/arguments.ts';
import { usageError } from '../../terminal/cli-error.ts';
import type { Io } from '../../terminal/io.ts';

/** Arguments that describe an event. */
export const EVENT_ARGS = {
  input: { type: 'positional', description: '- for data from standard input', required: false },
  data: { type: 'string', alias: 'd', valueHint: 'JSON', description: 'Data of the event, else it has none' },
  file: option('A file with the data', 'path'),
  type: {
    type: 'string',
    valueHint: 'type/subtype',
    description: 'Media type of the data',
    default: 'application/json',
  },
  key: option('Idempotency-Key: the same is the same run for 24 hours'),
} as const satisfies ArgsDef;

interface EventArgs {
  input?: string | undefined;
  data?: string | undefined;
  file?: string | undefined;
  type: string;
  key?: string | undefined;
}

export interface EventInput {
  data: Uint8Array | undefined;
  options: Required<Pick<CreateRun, 'contentType' | 'idempotencyKey'>>;
}

/**
 * Reads the event of a command line, with an idempotency key, so that a repeat after a lost connection runs it once.
 * @throws CliError
 */
export async function readEvent({ input, data, file, type, key }: EventArgs): Promise<EventInput> {
  if (input !== undefined && input !== '-') {
    throw usageError(
      `${JSON.stringify(input)} is no option`,
      'Give the data by --data or --file, or - for standard input.',
    );
  }
  if ([input, data, file].filter((each) => each !== undefined).length > 1) {
    throw usageError('--data, --file and - exclude each other');
  }
  const path = file ?? (input === '-' ? '-' : undefined);
  const bytes = data === undefined ? path && (await contentOf(path)) : Buffer.from(data);
  if (bytes && /^application\/json\b/i.test(type))
    refuseUnlessJson(bytes, data === undefined ? (path ?? '') : '--data');
  return { data: bytes || undefined, options: { contentType: type, idempotencyKey: key ?? randomUUID() } };
}

/** Stores an event. After a lost connection, prints how to send it again without a second run. */
export async function storeEvent(
  io: Io,
  runs: Runs,
  name: string,
  { data, options }: EventInput,
  more: Pick<CreateRun, 'delaySeconds' | 'signal'> = { signal: io.signal },
): Promise<Run> {
  try {
    return await runs.create(name, data, { ...options, ...more });
  } catch (error) {
    if (error instanceof MayflyConnectionError || io.signal.aborted)
      io.note(`It may be stored: with --key ${options.idempotencyKey} it runs once.`);
    throw error;
  }
}

/**
 * Reads JSON as it is written. @param of a file, `-` for standard input, or a text of the command line @throws CliError
 */
export async function jsonOf(of: { path: string } | { text: string }): Promise<Uint8Array> {
  const bytes = 'path' in of ? await contentOf(of.path) : Buffer.from(of.text);
  refuseUnlessJson(bytes, 'path' in of ? of.path : '--data');
  return bytes;
}

/** Reads JSON unchanged for the body of a request. @throws CliError */
export async function rawJsonOf(of: Parameters<typeof jsonOf>[0]): Promise<RawJson> {
  return new RawJson(new TextDecoder().decode(await jsonOf(of)));
}

function refuseUnlessJson(bytes: Uint8Array, where: string): void {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    const text = bytes.length === 0 ? 'empty' : 'not JSON';
    throw usageError(
      `${where === '-' ? 'standard input' : where} is ${text}`,
      `A text is '"…"' in JSON; what is none needs --type, such as text/plain.`,
    );
  }
}

/** @throws CliError */
async function contentOf(path: string): Promise<Uint8Array> {
  const file = await orAbsent(open(path === '-' ? '/dev/stdin' : path));
  if (!file)
    throw usageError(`there is no file ${JSON.stringify(path)}`, 'Name one with --file, or give the data by --data.');
  const { max } = LIMITS.functions.eventBytes;
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of file.createReadStream() as AsyncIterable<Buffer>) {
    pieces.push(piece);
    length += piece.length;
    if (length > max) throw usageError(`${path} has more than ${max} bytes`, 'Send a reference to the data instead.');
  }
  return Buffer.concat(pieces);
}
