import { once } from 'node:events';
import { connect } from 'node:net';
import { Connection } from '@temporalio/client';
import { MayflyError } from '../../model/errors.ts';
import type { Store } from '../../store/connect.ts';
import { connectStore } from '../../store/connect.ts';
import type { Config } from '../config/config.ts';
import { hostLockOf } from '../machine/host-lock.ts';
import { recallServers } from '../servers/remembered-servers.ts';
import { NothingThere } from './check.ts';

/** How long a server may take to accept a connection. Milliseconds. */
const CONNECT_MS = 2_000;

/** What probes look at. What several of them need is opened once, and closed with it. */
export class Surroundings {
  readonly config: Config;
  /** Whether a host worker serves the state folder at this moment. */
  readonly isServed: boolean;
  /** Undefined: of a `mayfly up` that does not run. */
  readonly temporalAddress: string | undefined;
  #store: Promise<Store> | null = null;
  #temporal: Promise<Connection> | null = null;

  private constructor(config: Config, isServed: boolean, temporalAddress: string | undefined) {
    this.config = config;
    this.isServed = isServed;
    this.temporalAddress = temporalAddress;
  }

  /** @param config names the store, where there is one to be asked */
  static async of(config: Config): Promise<Surroundings> {
    const isHere = await isServed(config);
    const remembered = isHere ? (await recallServers(config.stateDir))?.temporalAddress : undefined;
    return new Surroundings(config, isHere, config.temporalAddress ?? remembered);
  }

  /** @throws NothingThere, MayflyError store_unavailable */
  store(): Promise<Store> {
    const { mongodbUri } = this.config;
    if (mongodbUri === undefined) return Promise.reject(new NothingThere('there is no store here yet'));
    this.#store ??= connectStore(mongodbUri);
    return this.#store;
  }

  /** @throws NothingThere, MayflyError temporal_unavailable */
  temporal(): Promise<Connection> {
    const address = this.temporalAddress;
    if (address === undefined)
      return Promise.reject(new NothingThere('`mayfly up`, which has a Temporal, does not run'));
    this.#temporal ??= Connection.connect({ address, connectTimeout: CONNECT_MS }).catch((cause: unknown) => {
      throw new MayflyError('temporal_unavailable', `Temporal does not answer at ${address}`, { cause });
    });
    return this.#temporal;
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled([this.#store, this.#temporal]);
    for (const one of opened) if (one.status === 'fulfilled') await one.value?.close();
  }
}

/** Whether a host worker serves the state folder at this moment. */
export async function isServed({ stateDir }: Config): Promise<boolean> {
  const socket = connect({ path: hostLockOf(stateDir) });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
    return true;
  } catch {
    return false; // refused: nobody holds it
  } finally {
    socket.destroy();
  }
}
