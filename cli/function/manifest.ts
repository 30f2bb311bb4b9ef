import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeployFunction } from '../../clients/typescript/http/openapi.ts';
import { usageError } from '../terminal/cli-error.ts';
import { functionName } from './input/names.ts';

/** File with a function's name and specification. */
export const MANIFEST = 'mayfly.json';
/** File with patterns of .dockerignore for files that are not deployed. */
export const IGNORE_FILE = '.mayflyignore';

interface Manifest {
  name: string;
  /** The API validates it. */
  spec: DeployFunction;
}

/** @throws CliError for a missing or invalid mayfly.json */
export async function manifestOf(folder: string): Promise<Manifest> {
  const path = join(folder, MANIFEST);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')))
      throw error;
    throw usageError(
      `there is no ${path}`,
      'Name a folder that has one, or write one with `mayfly function init <folder>`.',
    );
  });
  const { name, ...spec } = objectIn(path, text);
  if (typeof name !== 'string') throw usageError(`${path} has no "name"`, 'It is a text, such as "summarise".');
  if ('files' in spec) throw usageError(`${path} has "files"`, 'Leave it out: the files of its folder are sent.');
  return { name: functionName(name), spec };
}

function objectIn(path: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usageError(`${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`, 'Mend it.');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw usageError(`${path} is no JSON object`, 'It begins with {"name": …');
}
