import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { orAbsent } from '../../host/os/absent.ts';
import { writeFileAtomic } from '../../host/os/atomic-file.ts';

/** Variables that locate an installation and its parts; their file is in the state folder itself. */
const SAVED_VARIABLES = [
  'MAYFLY_HOST',
  'MAYFLY_HOST_ID',
  'MAYFLY_API_ADDRESS',
  'MAYFLY_API_PORT',
  'MAYFLY_LIBVIRT_URI',
  'MAYFLY_SUBNET',
  'MAYFLY_INTERNET_SUBNET',
  'MAYFLY_PAYLOAD_KEY_FILE',
  'MONGODB_URI',
  'TEMPORAL_ADDRESS',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_TLS_CA',
  'TEMPORAL_TLS_CERT',
  'TEMPORAL_TLS_KEY',
  'TEMPORAL_TLS_SERVER_NAME',
];
const settings = z.record(z.string(), z.string());

/** Saves the environment variables of `mayfly up` for commands on this machine. */
export async function saveSettings(stateDir: string, env: NodeJS.ProcessEnv): Promise<void> {
  const set = SAVED_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : []));
  await writeFileAtomic(fileOf(stateDir), `${JSON.stringify(Object.fromEntries(set))}\n`, 0o600);
}

/** `problem`: sentence about why the saved settings are not used; null when they are used, or none were saved. */
interface SavedSettings {
  env: Record<string, string>;
  problem: string | null;
}

/**
 * Loads the settings of the folder's last `mayfly up`. Ignores a file that another user can have written: its settings
 * decide which programs are started.
 */
export async function loadSavedSettings(stateDir: string): Promise<SavedSettings> {
  const path = fileOf(stateDir);
  try {
    const file = await orAbsent(open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
    if (file === null) return { env: {}, problem: null };
    const text = await readIfPrivate(file);
    if (text === null) return { env: {}, problem: `${path} is not of this user alone` };
    const known = Object.entries(settings.parse(JSON.parse(text))).filter(([name]) => SAVED_VARIABLES.includes(name));
    return { env: Object.fromEntries(known), problem: null };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError)
      return { env: {}, problem: `${path} is damaged; the next \`mayfly up\` writes it anew` };
    if (error instanceof Error && 'code' in error)
      return { env: {}, problem: `${path} cannot be read: ${error.message}` };
    throw error;
  }
}

/** @returns null when others own the file, or may read or write it */
async function readIfPrivate(file: FileHandle): Promise<string | null> {
  try {
    const { uid, mode } = await file.stat();
    return uid === process.geteuid?.() && (mode & 0o077) === 0 ? await file.readFile('utf8') : null;
  } finally {
    await file.close();
  }
}

function fileOf(stateDir: string): string {
  return join(stateDir, 'up.json');
}
