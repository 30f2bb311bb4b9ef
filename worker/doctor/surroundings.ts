import { Connection } from '@temporalio/client';
import { MayflyError } from '../../model/errors.ts';
import type { Store } from '../../store/connect.ts';
import { connectStore } from '../../store/connect.ts';
import type { Config } from '../config/config.ts';
import { HostLock } from '../machine/host-lock.ts';
import { loadLocalKeys } from '../payloads/data-converter.ts';
import { loadServerAddresses } from '../servers/remembered-servers.ts';
import { findTlsProblem, readTemporalTls } from '../servers/temporal-tls.ts';
import { NotApplicable } from './check.ts';

/** Timeout of connecting to a server, ms. */
const CONNECT_MS = 2_000;

/** Context of probes. Shared connections are opened once, and closed with it. */
export class ProbeContext {
  readonly config: Config;
  /** True when a host worker serves the state folder now. */
  readonly isServed: boolean;
  /** Undefined: it belongs to a `mayfly up` that does not run. */
  readonly temporalAddress: string | undefined;
  #store: Promise<Store> | null = null;
  #temporal: Promise<Connection> | null = null;

  private constructor(config: Config, isServed: boolean, temporalAddress: string | undefined) {
    this.config = config;
    this.isServed = isServed;
    this.temporalAddress = temporalAddress;
  }

  /** @param config names the store, if there is one */
  static async of(config: Config): Promise<ProbeContext> {
    const isHere = await HostLock.isHeld(config.stateDir);
    const remembered = isHere ? (await loadServerAddresses(config.stateDir))?.temporalAddress : undefined;
    return new ProbeContext(config, isHere, config.temporalAddress ?? remembered);
  }

  /** @throws NothingThere, MayflyError store_unavailable */
  store(): Promise<Store> {
    const { mongodbUri } = this.config;
    if (mongodbUri === undefined) return Promise.reject(new NotApplicable('there is no store here yet'));
    this.#store ??= loadLocalKeys(this.config).then((keys) => connectStore(mongodbUri, keys));
    return this.#store;
  }

  /** @throws NothingThere, MayflyError temporal_unavailable */
  temporal(): Promise<Connection> {
    const address = this.temporalAddress;
    if (address === undefined)
      return Promise.reject(new NotApplicable('`mayfly up`, which has a Temporal, does not run'));
    this.#temporal ??= this.#connect(address);
    return this.#temporal;
  }

  async #connect(address: string): Promise<Connection> {
    const { temporalTls } = this.config;
    const tls = temporalTls && (await readTemporalTls(temporalTls));
    try {
      return await Connection.connect({ address, tls, connectTimeout: CONNECT_MS });
    } catch (cause) {
      const why = await findTlsProblem(address, tls);
      throw new MayflyError('temporal_unavailable', `Temporal does not answer at ${address}${why ? `: ${why}` : ''}`, {
        cause,
      });
    }
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled([this.#store, this.#temporal]);
    for (const one of opened) if (one.status === 'fulfilled') await one.value?.close();
  }
}
