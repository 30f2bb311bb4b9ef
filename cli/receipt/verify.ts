import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { ReceiptError, type VerifiedReceipt, verifyReceipt } from '../../clients/typescript/receipts/verify-receipt.ts';
import { type Descriptor, EVENT_NAME, logName, RESULT_NAME, type Statement } from '../../model/functions/receipt.ts';
import { JSON_OPTION, option, positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { readPublicKeys } from './public-keys.ts';
import { type Finding, findingOf, findingsIn, RECEIPT_FILE, readReceipt, savedOf } from './receipt-file.ts';

const FILES = {
  result: option('What is said to be its result', 'file'),
  event: option('What is said to be its event', 'file'),
  stdout: option('What its last process is said to have printed', 'file'),
  stderr: option('The same, on standard error', 'file'),
};

/** `mayfly receipt verify`: asks nobody. */
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
    const inFolder = isFolder ? await findingsIn(args.file, statement) : [];
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

/** Of files that were given one by one. @throws CliError for what the receipt does not speak of */
async function findingsOf(
  args: Partial<Record<keyof typeof FILES, string | undefined>>,
  statement: Statement,
): Promise<Finding[]> {
  const named = savedOf(statement);
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
  return Promise.all(given.map(([descriptor, path]) => findingOf(descriptor, path)));
}

function printVerified(io: Io, { statement, keyid }: VerifiedReceipt, files: readonly Finding[]): void {
  const { metadata, builder } = statement.predicate.runDetails;
  const { outcome, cleanup } = metadata.mayfly_run as { outcome: unknown; cleanup: unknown };
  io.print(`signature ${io.paint('green', 'valid')}: ${printable(keyid)} of ${printable(builder.id)}`);
  io.print(`${printable(metadata.invocationId)}: ${printable(String(outcome))}, cleanup ${printable(String(cleanup))}`);
  for (const { name, found } of files)
    io.print(`${io.paint(found === 'same' ? 'green' : 'red', found)} ${printable(name)}`);
}
