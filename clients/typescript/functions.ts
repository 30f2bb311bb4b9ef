import { setTimeout as sleep } from 'node:timers/promises';
import type { CallOptions } from './http/deadline.ts';
import type { BulkAction, DeployFunction, FunctionVersion } from './http/openapi.ts';
import { type BodyOf, bytesOf, Resource } from './http/resource.ts';
import type { PostOptions } from './http/transport.ts';

/** Poll interval of a setup that is being prepared, ms. */
const PREPARING_EVERY_MS = 1_000;

/** Programs that run once for each event, in a sandbox of its own. */
export class Functions extends Resource {
  /** By name. */
  readonly list = this.ask('GET /v1/functions');
  readonly get = this.ask('GET /v1/functions/{name}');
  /** All that are retained, newest first. */
  readonly versions = this.ask('GET /v1/functions/{name}/versions');
  /** Accepts events for an earlier version from now on. Waiting runs keep theirs. */
  readonly activate = this.ask('POST /v1/functions/{name}/versions/{version}/activate');
  /** Starts no run of it; its events are still accepted. */
  readonly pause = this.ask('POST /v1/functions/{name}/pause');
  readonly resume = this.ask('POST /v1/functions/{name}/resume');
  readonly bulk = this.ask('GET /v1/functions/{name}/bulk/{bulk}');
  /** Ends after the runs in progress; completed ones stay as they are. */
  readonly cancelBulk = this.ask('POST /v1/functions/{name}/bulk/{bulk}/cancel');
  /**
   * Deletes a function whose runs have ended; with `drain`, when they have.
   * @returns the function until then; undefined once it is deleted
   */
  readonly delete = this.ask('DELETE /v1/functions/{name}');
  readonly #startBulk = this.send('POST /v1/functions/{name}/bulk');

  /**
   * Deploys a version, for which events are accepted from now on.
   * @returns `isNew`: false when that content was deployed before, as the returned version
   */
  async deploy(
    name: string,
    spec: DeployFunction,
    options: CallOptions = {},
  ): Promise<{ version: FunctionVersion; isNew: boolean }> {
    const request = { method: 'PUT', path: `/v1/functions/${encodeURIComponent(name)}`, body: spec } as const;
    return this.transport.repeated(options, async (signal) => {
      const response = await this.transport.open(request, signal);
      const text = new TextDecoder().decode(await bytesOf(response, this.transport, signal));
      return { version: JSON.parse(text) as FunctionVersion, isNew: response.status === 201 };
    });
  }

  /**
   * Returns a version when its setup is ready, or has failed; at once without a setup. @throws TypeError for a missing
   * version
   */
  async prepared(name: string, version: number, options: CallOptions = {}): Promise<FunctionVersion> {
    for (;;) {
      const found = (await this.versions(name, options)).items.find((each) => each.version === version);
      if (!found) throw new TypeError(`${name} has no version ${version} any more`);
      if (found.setup?.state !== 'preparing') return found;
      await sleep(PREPARING_EVERY_MS, undefined, options.signal ? { signal: options.signal } : {}).catch((cause) => {
        options.signal?.throwIfAborted();
        throw cause;
      });
    }
  }

  /** Returns when the action is stored; it continues on its own, and acts on each run once. */
  startBulk(name: string, { action, version, filter, ...options }: BulkRequest): Promise<BulkAction> {
    const optional = { ...(version && { version }), ...(filter && { filter }) };
    return this.#startBulk(name, { action, ...optional }, options);
  }
}

/** Action on many runs, which the filter selects as in {@link Runs.list}. */
export type BulkRequest = PostOptions & BodyOf<'POST /v1/functions/{name}/bulk'>;
