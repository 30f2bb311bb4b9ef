import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect as connectTcp } from 'node:net';
import { z } from 'zod';
import { exec } from '../../host/os/exec.ts';
import { type Config, readConfig } from '../../worker/config/config.ts';
import { loadSavedSettings } from '../../worker/config/left-settings.ts';
import { type Check, note, passed } from '../../worker/doctor/check.ts';
import { connectionFileOf } from '../terminal/connection.ts';

/** Timeout of connecting to a server, ms. */
const CONNECT_MS = 3_000;

/** Checks the configured servers; those that Mayfly would start itself are skipped. */
export async function checkServers(config: Config): Promise<Check[]> {
  const { temporalAddress, mongodbUri, hostKind, libvirtUri } = config;
  return [
    temporalAddress === undefined ? own('Temporal') : await tcp('Temporal', temporalAddress, 'TEMPORAL_ADDRESS'),
    mongodbUri === undefined ? own('store') : await tcp('store', firstHost(mongodbUri), 'MONGODB_URI'),
    ...(hostKind === 'libvirt' ? [await libvirt(libvirtUri)] : []),
  ];
}

function own(name: string): Check {
  return { name, ok: true, optional: false, found: '`mayfly up` starts its own', remedy: '' };
}

/** `mongodb://user:secret@a:1,b:2/db` → `a:1`: never prints the secret. */
function firstHost(uri: string): string {
  const authority = uri.replace(/^mongodb(\+srv)?:\/\//, '').split(/[/?]/)[0] ?? '';
  const host = authority.slice(authority.lastIndexOf('@') + 1).split(',')[0] ?? '';
  return host.includes(':') ? host : `${host}:27017`;
}

async function tcp(name: string, address: string, variable: string): Promise<Check> {
  const colon = address.lastIndexOf(':');
  const socket = connectTcp({ host: address.slice(0, colon), port: Number(address.slice(colon + 1)) });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
    return { name, ok: true, optional: false, found: `${address} accepts connections`, remedy: '' };
  } catch (error) {
    const found = `${address}: ${error instanceof Error ? error.message : String(error)}`;
    return { name, ok: false, optional: false, found, remedy: `Start it, or correct ${variable}.` };
  } finally {
    socket.destroy();
  }
}

async function libvirt(uri: string | undefined): Promise<Check> {
  if (uri === 'private') return own('libvirtd answers');
  try {
    const { stdout } = await exec('virsh', ['-c', uri ?? 'qemu:///system', 'version', '--daemon'], {
      timeoutMs: 10_000,
    });
    const daemon = stdout.split('\n').find((line) => line.startsWith('Running against daemon'));
    return { name: 'libvirtd answers', ok: true, optional: false, found: daemon ?? 'answers', remedy: '' };
  } catch (error) {
    const optional = uri === undefined;
    const remedy = optional ? 'None runs: Mayfly starts a private one.' : 'Start it, or correct MAYFLY_LIBVIRT_URI.';
    const found = error instanceof Error ? error.message : String(error);
    return { name: 'libvirtd answers', ok: false, optional, found, remedy };
  }
}

const connection = z.object({ apiUrl: z.url() });

/**
 * Reads the settings of the environment, completed by those of the folder's last `mayfly up`.
 * @returns also a check that lists the completed settings, if any
 * @throws MayflyError invalid_request when the environment is not valid
 */
export async function settingsOf(env: NodeJS.ProcessEnv): Promise<{ config: Config; checks: Check[] }> {
  const given = readConfig(env);
  const left = await loadSavedSettings(given.stateDir);
  const taken = Object.keys(left.env).filter((name) => env[name] === undefined);
  const problem = left.problem ?? problemOf({ ...left.env, ...env });
  if (problem !== null) {
    const remedy = 'Set what `mayfly up` was started with in the environment.';
    return { config: given, checks: [note('settings', problem, remedy)] };
  }
  const config = readConfig({ ...left.env, ...env });
  const api = { ...config.api, ...(config.api.port === 0 && (await findApiAddress(config.stateDir))) };
  const checks = taken.length > 0 ? [passed('settings', `as \`mayfly up\` had them: ${taken.join(', ')}`)] : [];
  return { config: { ...config, api }, checks };
}

/** Returns the conflict between the environment and the saved settings, or null. */
function problemOf(env: NodeJS.ProcessEnv): string | null {
  try {
    readConfig(env);
    return null;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `what \`mayfly up\` had does not go with the environment: ${why}`;
  }
}

/** Returns the address of the running `mayfly up`; null: none runs, or its file is unreadable. */
async function findApiAddress(stateDir: string): Promise<{ address: string; port: number } | null> {
  try {
    const { apiUrl } = connection.parse(JSON.parse(await readFile(connectionFileOf(stateDir), 'utf8')));
    const { hostname, port } = new URL(apiUrl);
    return { address: hostname.replace(/^\[|\]$/g, ''), port: Number(port) };
  } catch {
    return null;
  }
}
