import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { type Config, readConfig } from '../../worker/config/config.ts';
import { settingsLeft } from '../../worker/config/left-settings.ts';
import { type Check, fine, note } from '../../worker/doctor/check.ts';
import { connectionFileOf } from '../terminal/connection.ts';

const connection = z.object({ apiUrl: z.url() });

/**
 * The settings of the environment, and for what is not set there those of the last `mayfly up` of the state folder.
 * @returns also what to tell of that; none where nothing was taken
 * @throws MayflyError invalid_request when the environment is not valid
 */
export async function settingsOf(env: NodeJS.ProcessEnv): Promise<{ config: Config; checks: Check[] }> {
  const given = readConfig(env);
  const left = await settingsLeft(given.stateDir);
  const taken = Object.keys(left.env).filter((name) => env[name] === undefined);
  const problem = left.problem ?? problemOf({ ...left.env, ...env });
  if (problem !== null) {
    const remedy = 'Set what `mayfly up` was started with in the environment.';
    return { config: given, checks: [note('settings', problem, remedy)] };
  }
  const config = readConfig({ ...left.env, ...env });
  const api = { ...config.api, ...(config.api.port === 0 && (await placeOfApi(config.stateDir))) };
  const checks = taken.length > 0 ? [fine('settings', `as \`mayfly up\` had them: ${taken.join(', ')}`)] : [];
  return { config: { ...config, api }, checks };
}

/** What of the environment and of what was left does not go together. */
function problemOf(env: NodeJS.ProcessEnv): string | null {
  try {
    readConfig(env);
    return null;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `what \`mayfly up\` had does not go with the environment: ${why}`;
  }
}

/** Where the `mayfly up` that runs serves; null: none runs, or its file is not to be read. */
async function placeOfApi(stateDir: string): Promise<{ address: string; port: number } | null> {
  try {
    const { apiUrl } = connection.parse(JSON.parse(await readFile(connectionFileOf(stateDir), 'utf8')));
    const { hostname, port } = new URL(apiUrl);
    return { address: hostname.replace(/^\[|\]$/g, ''), port: Number(port) };
  } catch {
    return null;
  }
}
