import { once } from 'node:events';
import { checkAddresses } from '../services/listen.ts';
import { startApiPart } from './api-part.ts';
import type { Closers } from './config/closers.ts';
import type { Config } from './config/config.ts';
import { startControlPart } from './control-part.ts';
import { startHostPart } from './host-part.ts';
import { namedServers, openProcess, type Process } from './process.ts';
import { startProxyPart } from './proxy/proxy-part.ts';
import { LISTEN_ADDRESSES } from './servers/places.ts';

/** Processes of an installation over several machines. */
const PROCESSES = {
  api: async (process: Process) => {
    const { url, hooksUrl } = await startApiPart(process);
    process.logger.info({ url, hooksUrl }, 'the API listens');
    return new Promise<void>(() => {});
  },
  control: async (process: Process) => (await startControlPart(process)).ended,
  host: async (process: Process) => (await startHostPart(process)).ended,
  proxy: async (process: Process) => {
    const { address } = await startProxyPart({ ...process, ...namedServers(process.config) });
    process.logger.info({ address }, 'the proxy listens');
    return new Promise<void>(() => {});
  },
};

/**
 * Runs one process alone until the signal is aborted.
 * @param closers close everything opened
 * @throws the error of a process that ended on its own
 */
export async function serve(
  name: keyof typeof PROCESSES,
  config: Config,
  signal: AbortSignal,
  closers: Closers,
): Promise<void> {
  try {
    const servers = namedServers(config);
    await checkAddresses(LISTEN_ADDRESSES[name](config));
    const process = await openProcess(config, servers, closers, name === 'control');
    const running = PROCESSES[name](process);
    const stopped = signal.aborted ? Promise.resolve() : once(signal, 'abort');
    await Promise.race([running.then((ended) => ended), stopped]);
  } finally {
    await closers.close();
  }
}
