import { chmod } from 'node:fs/promises';
import { beforeEach } from 'vitest';
import { openFileDoor } from '../support/file-door.ts';
import { useFreshFolder } from '../support/use-folder.ts';
import { useOpened } from '../support/use-opened.ts';

/** Names that are each valid for a file. */
export const NAMES = [
  'plain', 'with space', 'new\nline', `quo"te's`, 'back\\slash', '-rf', '--', '$(touch x)', '`x`', '*?[a]', '%2F', '%00',
  'ünï', 'a?b#c', 'a&b=c+d', '\u202egnp', '\x01\x7f', '~', ' ', '..a', 'é'.repeat(127), Buffer.from([0xff, 0xfe]),
  Buffer.alloc(255, 0xff),
].map((name) => Buffer.from(name as string)); // biome-ignore format: a table

/** Opens the API for the tests of a file, with a sandbox on this machine's files, and a folder for each test. */
export function useFiles() {
  const folder = useFreshFolder();
  const door = useOpened(openFileDoor, (opened) => opened.close());
  beforeEach(async () => {
    await chmod(folder, 0o755);
  });

  function at(name: string | Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name as string)]);
  }

  /** Sends a raw HTTP request below `/files/`. */
  function ask(rest: string, init: RequestInit & { duplex?: 'half' } = {}, secret = door().key): Promise<Response> {
    const headers = { authorization: `Bearer ${secret}`, ...(init.headers as Record<string, string>) };
    return fetch(`${door().url}/v1/sandboxes/${door().id}/files/${rest}`, { ...init, headers });
  }

  return { files: door, client: () => door().client, id: () => door().id, folder: () => folder, at, ask };
}
