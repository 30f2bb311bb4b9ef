import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { orAbsent } from '../../host/os/absent.ts';
import { writeFileAtomic } from '../../host/os/atomic-file.ts';

const remembered = z.object({ temporalAddress: z.string(), storeUri: z.string() });

/** Saves the addresses of `mayfly up`'s servers for commands on this machine (`doctor`, `audit verify`). */
export async function saveServerAddresses(stateDir: string, servers: z.infer<typeof remembered>): Promise<void> {
  await writeFileAtomic(fileOf(stateDir), `${JSON.stringify(remembered.parse(servers))}\n`, 0o600);
}

/** Returns the saved addresses of the last `mayfly up`, which may have ended; null when there was none. */
export async function loadServerAddresses(stateDir: string): Promise<z.infer<typeof remembered> | null> {
  const text = await orAbsent(readFile(fileOf(stateDir), 'utf8'));
  return text === null ? null : remembered.parse(JSON.parse(text));
}

function fileOf(stateDir: string): string {
  return join(stateDir, 'servers.json');
}
