import { once } from 'node:events';
import { type AddressInfo, createServer, isIPv6, type Server } from 'node:net';
import { MayflyError } from '../model/errors.ts';

export interface ListenAddress {
  address: string;
  /** 0: any free one. */
  port: number;
  /** Environment variable of the port, `…_PORT`; that of the address ends with `_ADDRESS`. */
  setting: string;
}

/**
 * @returns the port
 * @throws MayflyError port_unavailable, which names the setting; Error for other causes
 */
export async function listen(server: Server, place: ListenAddress): Promise<number> {
  try {
    return await listenOnce(server, place);
  } catch (cause) {
    const problem = problemOf(cause, place);
    if (problem === null) throw cause;
    throw new MayflyError('port_unavailable', `${problem}.`, { cause });
  }
}

/**
 * Checks that all of these can be listened at together, then releases them.
 * @throws MayflyError port_unavailable, which names each that cannot
 */
export async function checkAddresses(places: readonly ListenAddress[]): Promise<void> {
  const problems: string[] = [];
  const held: Server[] = [];
  const fixed = places.filter(({ port }) => port !== 0);
  try {
    for (const [i, place] of fixed.entries()) {
      const server = createServer();
      try {
        await listenOnce(server, place);
        held.push(server);
      } catch (cause) {
        const problem = problemOf(cause, place, fixed.slice(0, i));
        if (problem === null) throw cause;
        problems.push(problem);
      }
    }
  } finally {
    await Promise.all(held.map(closed));
  }
  if (problems.length > 0) throw new MayflyError('port_unavailable', `${problems.join('; ')}.`);
}

async function listenOnce(server: Server, { address, port }: ListenAddress): Promise<number> {
  server.listen(port, address);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function closed(server: Server): Promise<void> {
  const done = once(server, 'close');
  server.close();
  await done;
}

/** Returns why the place cannot be listened at; null for another cause. @param before places listened at earlier */
function problemOf(
  cause: unknown,
  { address, port, setting }: ListenAddress,
  before: readonly ListenAddress[] = [],
): string | null {
  const where = `${isIPv6(address) ? `[${address}]` : address}:${port} (${setting})`;
  const addressSetting = setting.replace(/_PORT$/, '_ADDRESS');
  const same = before.find((other) => other.port === port);
  const { code = '' } = cause as NodeJS.ErrnoException;
  switch (code) {
    case 'EADDRINUSE':
      return same ? `${where} is the port of ${same.setting}, too` : `Another program listens at ${where}`;
    case 'EACCES':
      return `${where} is not for this user: a port below 1024 needs root`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${where} cannot be listened at: ${addressSetting} is no address of this machine`;
    default:
      return null;
  }
}
