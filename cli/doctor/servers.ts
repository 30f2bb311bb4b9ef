import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { exec } from '../../host/os/exec.ts';
import type { Config } from '../../worker/config/config.ts';
import type { Check } from '../../worker/doctor/check.ts';

/** How long a server may take to accept a connection. Milliseconds. */
const CONNECT_MS = 3_000;

/** Servers that this installation is told to use; those it would start itself are not looked for. */
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

/** `mongodb://user:secret@a:1,b:2/db` → `a:1`: the secret stays out of what is printed. */
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
