import { createWriteStream } from 'node:fs';
import { lstat, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { ReceiptError, type VerifiedReceipt, verifyReceipt } from '../../clients/typescript/receipts/verify-receipt.ts';
import { type Descriptor, EVENT_NAME, logName, RESULT_NAME, type Statement } from '../../model/receipts/in-toto.ts';
import type { Envelope } from '../../model/receipts/receipt.ts';
import { canonicalJson } from '../../store/audit/canonical-json.ts';
import { readConfig } from '../../worker/config/config.ts';
import { RUN, runId } from '../function/input/names.ts';
import { JSON_OPTION, option, positional } from '../terminal/arguments.ts';
import { EXIT, usageError } from '../terminal/cli-error.ts';
import { command, customCommand, nounCommand } from '../terminal/command.ts';
import { type Io, printable } from '../terminal/io.ts';
import {
  checkFile,
  checkFolder,
  type Finding,
  listSavedFiles,
  pathIn,
  RECEIPT_FILE,
  readPublicKeys,
  readReceipt,
} from './receipt-file.ts';

const FILES = {
  result: option('What is said to be its result', 'file'),
  event: option('What is said to be its event', 'file'),
  stdout: option('What its last process is said to have printed', 'file'),
  stderr: option('The same, on standard error', 'file'),
};

/** `mayfly receipt verify`: works offline. */
export const verifyCommand = customCommand({
  description: 'Verify a receipt, and what it is about, without asking anybody',
  args: {
    file: positional('A receipt; or a folder of `mayfly receipt get --save`, all of which is verified'),
    key: { type: 'string', valueHint: 'file', description: 'Public keys that are trusted, in PEM', required: true },
    ...FILES,
    ...JSON_OPTION,
  },
  async run({ io, args }) {
    const keys = await readPublicKeys(args.key);
    const isFolder = (await lstat(args.file)).isDirectory();
    const receipt = await readReceipt(isFolder ? join(args.file, RECEIPT_FILE) : args.file);
    const verified = verifiedBy(receipt, keys);
    if ('why' in verified) {
      if (args.json) io.printJson({ ok: false, signature: verified.why, files: [] });
      else io.print(`signature ${io.paint('red', 'not valid')}: ${printable(verified.why)}`);
      return EXIT.failed;
    }
    const { statement, keyid } = verified;
    const inFolder = isFolder ? await checkFolder(args.file, statement) : [];
    const files = [...inFolder, ...(await findingsOf(args, statement))];
    const ok = files.every(({ found }) => found === 'same');
    if (args.json) io.printJson({ ok, signature: 'valid', keyid, statement, files });
    else printVerified(io, verified, files);
    return ok ? EXIT.ok : EXIT.failed;
  },
});

function verifiedBy(receipt: unknown, keys: readonly string[]): VerifiedReceipt | { why: string } {
  try {
    return verifyReceipt(receipt, keys);
  } catch (error) {
    if (error instanceof ReceiptError) return { why: error.message };
    throw error;
  }
}

/** Verifies files that were given one by one. @throws CliError for a file that the receipt does not cover */
async function findingsOf(
  args: Partial<Record<keyof typeof FILES, string | undefined>>,
  statement: Statement,
): Promise<Finding[]> {
  const named = listSavedFiles(statement);
  const last = Math.max(0, ...named.map(({ name }) => Number(/^attempt-(\d+)\//.exec(name)?.[1] ?? 0)));
  const names: Record<keyof typeof FILES, string> = {
    result: RESULT_NAME,
    event: EVENT_NAME,
    stdout: logName(last, 'stdout'),
    stderr: logName(last, 'stderr'),
  };
  const given = Object.entries(names).flatMap(([option, name]): [Descriptor, string][] => {
    const path = args[option as keyof typeof FILES];
    if (path === undefined) return [];
    const descriptor = named.find((each) => each.name === name);
    if (!descriptor) throw usageError(`the receipt speaks of no ${option}`, `Leave --${option} out.`);
    return [[descriptor, path]];
  });
  return Promise.all(given.map(([descriptor, path]) => checkFile(descriptor, path)));
}

function printVerified(io: Io, { statement, keyid }: VerifiedReceipt, files: readonly Finding[]): void {
  const { metadata, builder } = statement.predicate.runDetails;
  const { outcome, cleanup } = metadata.mayfly_run as { outcome: unknown; cleanup: unknown };
  io.print(`signature ${io.paint('green', 'valid')}: ${printable(keyid)} of ${printable(builder.id)}`);
  io.print(`${printable(metadata.invocationId)}: ${printable(String(outcome))}, cleanup ${printable(String(cleanup))}`);
  for (const { name, found } of files)
    io.print(`${io.paint(found === 'same' ? 'green' : 'red', found)} ${printable(name)}`);
}

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
  const files = listSavedFiles(statement);
  for (const { name, content } of files) {
    const path = pathIn(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await save(client, id, { name, content, path }, signal);
  }
  await writeFile(join(folder, RECEIPT_FILE), `${JSON.stringify(receipt)}\n`, { flag: 'wx' });
  return files.length;
}

/** Downloads a file of the receipt from its own endpoint. */
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

export const receiptCommand = nounCommand({
  get: getCommand,
  verify: verifyCommand,
  /** PEM, the format of `verify --key`. */
  keys: customCommand({
    description: 'Print the public keys that verify receipts, the newest first',
    args: JSON_OPTION,
    async run({ io, args, connect, options }) {
      const keys = await connect().runs.receiptKeys(options);
      if (args.json) io.printJson(keys);
      for (const { keyid, publicKey, since } of args.json ? [] : keys) {
        io.print(`# ${printable(keyid)} since ${printable(since)}`);
        for (const line of publicKey.trimEnd().split('\n')) io.print(printable(line));
      }
    },
  }),
  /** Creates the private key, on the control worker's machine. */
  rotate: command({
    description: 'Have another key sign receipts from now on; those that are signed stay valid',
    async call({ io }) {
      const { replaceReceiptKey } = await import('../../ca/receipt-key.ts');
      const path = join(readConfig(io.env).stateDir, 'control', 'receipt.key');
      const { keyid, publicKey } = await replaceReceiptKey(path);
      return { keyid, publicKey };
    },
    print: (_io, { publicKey }) => publicKey.trimEnd(),
    exit({ keyid }, io) {
      io.note(`${keyid} signs within seconds; keep the public keys from before: they verify what they have signed`);
      return EXIT.ok;
    },
  }),
});
