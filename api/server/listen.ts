import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { MayflyError } from '../../model/errors.ts';

export interface Place {
  address: string;
  /** 0: any free one. */
  port: number;
  /** The variable of the environment that names the port. */
  setting: string;
}

/**
 * @returns the port at which it listens
 * @throws MayflyError invalid_request when another program listens there; Error for any other cause
 */
export async function listen(server: Server, { address, port, setting }: Place): Promise<number> {
  server.listen(port, address);
  try {
    await once(server, 'listening');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cause;
    const why = `Another program listens at port ${port} of ${address}; ${setting} names another port.`;
    throw new MayflyError('invalid_request', why, { cause });
  }
  return (server.address() as AddressInfo).port;
}
