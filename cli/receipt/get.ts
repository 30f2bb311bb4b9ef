import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { Envelope, Statement } from '../../model/functions/receipt.ts';
import { canonicalJson } from '../../store/audit/canonical-json.ts';
import { RUN, runId } from '../function/input/names.ts';
import { option } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import { printable } from '../terminal/printable.ts';
import { pathIn, RECEIPT_FILE, savedOf } from './receipt-file.ts';

/** `mayfly receipt get` */
export const getCommand = customCommand({
  description: 'Fetch the receipt of a run; with --save also all that it is about',
  args: {
    ...RUN,
    save: option('A new folder for it, and for all that it is about', 'folder'),
  },
  async run({ io, args, connect, options }) {
    const id = runId(args.id);
    const client = connect();
    const receipt = await client.runs.receipt(id, options);
    if (args.save === undefined) {
      io.printJson(receipt);
      return EXIT.ok;
    }
    const count = await saveAll(client, id, receipt, { folder: args.save, signal: io.signal });
    io.note(`${printable(args.save)} has the receipt, and ${count} files that it is about`);
    return EXIT.ok;
  },
});

async function saveAll(
  client: MayflyClient,
  id: string,
  receipt: Envelope,
  { folder, signal }: { folder: string; signal: AbortSignal },
): Promise<number> {
  await mkdir(folder).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    throw usageError(`${folder} is there already`, 'Name a folder that is not.');
  });
  const statement = JSON.parse(Buffer.from(receipt.payload, 'base64').toString()) as Statement;
  const files = savedOf(statement);
  for (const { name, content } of files) {
    const path = pathIn(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await save(client, id, { name, content, path }, signal);
  }
  await writeFile(join(folder, RECEIPT_FILE), `${JSON.stringify(receipt)}\n`, { flag: 'wx' });
  return files.length;
}

/** Each from where it is. */
async function save(
  client: MayflyClient,
  id: string,
  { name, content, path }: { name: string; content: string | undefined; path: string },
  signal: AbortSignal,
): Promise<void> {
  const { runs } = client;
  const write = (bytes: Uint8Array | string) => writeFile(path, bytes, { flag: 'wx' });
  const [, n, stream] = /^attempt-(\d+)\/(stdout|stderr)$/.exec(name) ?? [];
  const [, sandboxId] = /^proofs\/(.+)\.json$/.exec(name) ?? [];
  const artifact = name.startsWith('artifacts/') ? name.slice('artifacts/'.length) : null;
  if (content !== undefined) return write(Buffer.from(content, 'base64'));
  if (name === 'result') return write((await runs.result(id, { signal })).bytes);
  if (name === 'diff') return write(await runs.diffBytes(id, { signal }));
  if (name === 'event.json') return write(await runs.event(id, { signal }));
  if (artifact !== null) return write(await runs.artifact(id, artifact, { signal }));
  if (sandboxId !== undefined) return write(canonicalJson((await client.getSandbox(sandboxId, { signal })).proof));
  if (stream !== 'stdout' && stream !== 'stderr') return;
  const { bytes } = await runs.output(id, { stream, attempt: Number(n), signal });
  await pipeline(
    Readable.fromWeb(bytes as Parameters<typeof Readable.fromWeb>[0]),
    createWriteStream(path, { flags: 'wx' }),
  );
}
