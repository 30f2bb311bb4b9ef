import { readFileSync } from 'node:fs';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { percentEncode } from '../../model/files/file-path.ts';
import { isSandboxName } from '../../model/ids.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { usageError } from '../terminal/cli-error.ts';

export interface SandboxSide {
  kind: 'sandbox';
  /** Id, or the name until it is {@link resolveSandboxId}. */
  sandboxId: string;
  /** Absolute. */
  path: Buffer;
}

export interface LocalSide {
  kind: 'local';
  path: Buffer;
}

/** End of a copy; `pipe` is standard input or output. */
export type Endpoint = SandboxSide | LocalSide | { kind: 'pipe' };

/** Prefix of a sandbox's path; as in scp(1), a slash before the colon makes it a local path. */
const IN_A_SANDBOX = /^([a-z0-9-]+):/;
export const SLASH = 0x2f;

/** @throws CliError */
export function parseEndpoint(text: string): Endpoint {
  if (text === '-') return { kind: 'pipe' };
  const bytes = rawArgument(text);
  const [prefix, sandboxId = ''] = IN_A_SANDBOX.exec(text) ?? [];
  if (prefix === undefined || !(isSandboxId(sandboxId) || isSandboxName(sandboxId))) {
    if (bytes.length === 0) throw usageError('a path may not be empty');
    return { kind: 'local', path: bytes };
  }
  const path = bytes.subarray(prefix.length);
  if (path[0] === SLASH) return { kind: 'sandbox', sandboxId, path };
  const remedy = `As in ${sandboxId}:/tmp/file; a file of this name here is ./${text}.`;
  throw usageError(`the path in ${sandboxId} must be absolute`, remedy);
}

/** Replaces a name by the id: a copy is many requests, during which the name may move to another sandbox. */
export async function resolveSandboxId(client: MayflyClient, side: Endpoint, signal: AbortSignal): Promise<Endpoint> {
  if (side.kind !== 'sandbox') return side;
  return { ...side, sandboxId: await client.sandboxIdOf(side.sandboxId, { signal }) };
}

/** Formats a side as an argument of `mayfly cp`, if it is UTF-8. */
export function formatEndpoint(side: Endpoint): string {
  if (side.kind === 'pipe') return '-';
  return side.kind === 'local' ? side.path.toString() : `${side.sandboxId}:${side.path.toString()}`;
}

/** Returns the last part of a path; null when it cannot name a copy. */
export function baseName(path: Buffer): Buffer | null {
  const trimmed = trimSlashes(path);
  const name = trimmed.subarray(trimmed.lastIndexOf(SLASH) + 1);
  return ['', '.', '..'].includes(name.toString('latin1')) ? null : name;
}

/** Removes trailing slashes, but keeps the root. */
export function trimSlashes(path: Buffer): Buffer {
  let end = path.length;
  while (end > 1 && path[end - 1] === SLASH) end--;
  return path.subarray(0, end);
}

export function parentOf(path: Buffer): Buffer {
  const trimmed = trimSlashes(path);
  const slash = trimmed.lastIndexOf(SLASH);
  if (slash === -1) return Buffer.from('.');
  return slash === 0 ? Buffer.from('/') : trimmed.subarray(0, slash);
}

export function join(directory: Buffer, name: Buffer | string): Buffer {
  const between = directory.at(-1) === SLASH ? '' : '/';
  return Buffer.concat([directory, Buffer.from(between), Buffer.from(name as string)]);
}

/** Formats a path for messages; paths that are not UTF-8 stay distinguishable. */
export function formatPath(path: Buffer): string {
  const text = path.toString('utf8');
  return Buffer.from(text).equals(path) ? JSON.stringify(text) : percentEncode(path);
}

/**
 * Returns the bytes of an argument. Node decodes the command line as UTF-8, with U+FFFD for invalid bytes; Linux keeps
 * the bytes (proc_pid_cmdline(5)).
 * @throws CliError when they cannot be recovered
 */
export function rawArgument(text: string, readCommandLine = commandLine): Buffer {
  if (!text.includes('\ufffd')) return Buffer.from(text);
  const found = argumentsIn(readCommandLine()).filter((bytes) => bytes.toString('utf8') === text);
  const [first] = found;
  if (first && found.every((bytes) => bytes.equals(first))) return first;
  throw usageError(`${JSON.stringify(text)} is not UTF-8, and its bytes are not known here`, 'Copy its directory.');
}

function argumentsIn(line: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < line.length; ) {
    const end = line.indexOf(0, at);
    found.push(line.subarray(at, end === -1 ? undefined : end));
    at = end === -1 ? line.length : end + 1;
  }
  return found;
}

function commandLine(): Buffer {
  return process.platform === 'linux' ? readFileSync('/proc/self/cmdline') : Buffer.alloc(0);
}
