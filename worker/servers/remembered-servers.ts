import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomic } from '../../host/os/atomic-file.ts';

const remembered = z.object({ temporalAddress: z.string(), storeUri: z.string() });

/** Leaves for commands on this machine (`doctor`, `audit verify`) where the servers of `mayfly up` answer. */
export async function rememberServers(stateDir: string, servers: z.infer<typeof remembered>): Promise<void> {
  await writeFileAtomic(fileOf(stateDir), `${JSON.stringify(remembered.parse(servers))}\n`, 0o600);
}

/** What the last `mayfly up` left; null when there was none. Whether it still runs is another question. */
export async function recallServers(stateDir: string): Promise<z.infer<typeof remembered> | null> {
  try {
    return remembered.parse(JSON.parse(await readFile(fileOf(stateDir), 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

function fileOf(stateDir: string): string {
  return join(stateDir, 'servers.json');
}
