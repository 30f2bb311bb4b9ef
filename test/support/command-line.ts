import { expect } from 'vitest';
import { runLine } from '../cli/run-line.ts';
import { TestDoor } from './door.ts';
import { serveHttp } from './http-server.ts';
import type { TestMayfly } from './mayfly.ts';
import { useOpened } from './use-opened.ts';

/** Opens the command line of an admin and its API, for the tests of a file. */
export function useCommandLine(mayfly: () => TestMayfly) {
  const open = useOpened(
    async () => {
      const door = await TestDoor.open(mayfly());
      const http = await serveHttp(door.app);
      const { secret } = await mayfly().store.apiKeys.create({ project: 'default', name: 'cli', scopes: ['operator'] });
      return { door, http, env: { MAYFLY_URL: http.url, MAYFLY_API_KEY: secret } };
    },
    ({ door, http }) => {
      http.close();
      door.close();
    },
  );

  const cli = (...args: string[]) => runLine(open().http, args, { env: open().env });

  /** Runs a command, which must succeed. @returns its JSON */
  async function told<T>(...args: string[]): Promise<T> {
    const { code, out, err } = await cli(...args, '--json');
    expect({ args, code, err: code === 0 ? '' : err }).toEqual({ args, code: 0, err: '' });
    return JSON.parse(out) as T;
  }

  return { cli, told, door: () => open().door };
}
