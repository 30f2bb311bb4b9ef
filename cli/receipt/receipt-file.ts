import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Descriptor, listDescriptors, type Statement } from '../../model/receipts/in-toto.ts';
import { usageError } from '../terminal/cli-error.ts';

/** Receipt in a folder of `mayfly receipt get --save`. */
export const RECEIPT_FILE = 'receipt.json';

/** Names that a receipt has by digest only, and whose content is not saved. */
const NOT_SAVED = /^(?:function|files\.tar|(?:source|snapshot)(?:\/.*)?)$/;

/** Result of comparing a file with its receipt. */
export interface Finding {
  name: string;
  found: 'same' | 'differs' | 'missing' | 'not of the receipt';
}

/** Lists the files of a receipt that are saved with it. */
export function listSavedFiles(statement: Statement): Descriptor[] {
  return listDescriptors(statement).filter(({ name }) => !NOT_SAVED.test(name));
}

/** @throws CliError for a name that leads out of the folder */
export function pathIn(folder: string, name: string): string {
  const parts = name.split('/');
  if (!name.includes('\0') && parts.every((part) => !['', '.', '..'].includes(part))) return join(folder, ...parts);
  throw usageError(`the receipt names a file ${JSON.stringify(name)}, which leads elsewhere`);
}

/** Compares one file with its digest. */
export async function checkFile({ name, digest }: Descriptor, path: string): Promise<Finding> {
  const sha256 = await digestOf(path);
  if (sha256 === null) return { name, found: 'missing' };
  return { name, found: sha256 === digest?.sha256 ? 'same' : 'differs' };
}

/** Compares a folder with a receipt: complete, and without other files. */
export async function checkFolder(folder: string, statement: Statement): Promise<Finding[]> {
  const named = listSavedFiles(statement);
  const findings = await Promise.all(named.map((each) => checkFile(each, pathIn(folder, each.name))));
  const known = new Set([RECEIPT_FILE, ...named.map(({ name }) => name)]);
  const others = (await filesIn(folder)).filter((name) => !known.has(name));
  return [...findings, ...others.map((name): Finding => ({ name, found: 'not of the receipt' }))];
}

/** @throws CliError when it is not JSON */
export async function readReceipt(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8');
  try {
    return JSON.parse(text);
  } catch {
    throw usageError(`${path} is not JSON, and so no receipt`, 'Fetch it with `mayfly receipt get`.');
  }
}

/** @returns null: the path is missing, or not a file */
async function digestOf(path: string): Promise<string | null> {
  const about = await lstat(path).catch(() => null);
  if (!about?.isFile()) return null;
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece as Uint8Array);
  return hash.digest('hex');
}

async function filesIn(folder: string, below = ''): Promise<string[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true });
  const names = entries.map(async (entry) => {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    return entry.isDirectory() ? filesIn(folder, name) : [name];
  });
  return (await Promise.all(names)).flat().sort();
}

const PEM = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g;

/** Reads the public keys of a file, as `mayfly receipt keys` prints them. @throws CliError when there is none */
export async function readPublicKeys(path: string): Promise<string[]> {
  const keys = (await readFile(path, 'utf8')).match(PEM) ?? [];
  if (keys.length > 0) return keys;
  throw usageError(`${path} has no public key in PEM`, '`mayfly receipt keys` prints some.');
}
