import type { Client } from '@temporalio/client';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { SourceAccess } from '../../model/snapshots/source-access.ts';
import type { Store } from '../../store/connect.ts';
import { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import { ApiTemporalClient } from '../../temporal/temporal-sagas.ts';

/** Guests that a step of a rotation has reached: ids of sandboxes, and `source <name> on <host>`. */
export interface TrustResult {
  told: string[];
  waiting: string[];
}

export interface PushOptions {
  /** Timeout for all of them together, s. */
  waitSeconds: number;
  signal: AbortSignal;
}

/** Makes every living sandbox and every prepared source trust the CA's current keys, and verifies that. */
export async function pushTrust(client: Client, store: Store, options: PushOptions): Promise<TrustResult> {
  const limit = new AbortController();
  const stop = () => limit.abort(new Error('the time for telling is over'));
  const timer = setTimeout(stop, options.waitSeconds * 1_000);
  options.signal.addEventListener('abort', stop, { once: true });
  if (options.signal.aborted) stop();
  const outcome: TrustResult = { told: [], waiting: [] };
  const note = async (name: string, tell: () => Promise<boolean>) => {
    const list = (await withinLimit(limit.signal, tell)) ? outcome.told : outcome.waiting;
    list.push(name);
  };
  try {
    const [sandboxes, sources] = await Promise.all([sandboxesAlive(store), store.sources.prepared()]);
    // All get the change before the first is awaited: a guest not reached in time gets it later.
    const { certificates } = new ControlTemporalClient(client);
    for (const { id } of sandboxes) await certificates.changeTrust(id, null);
    await Promise.all([
      ...sandboxes.map(({ id }) => note(id, () => certificates.trusted(id, limit.signal).then(() => true))),
      ...sources.map((source) =>
        note(`source ${source.name} on ${source.hostId}`, () =>
          prepareSourceAgain(client, store, source, limit.signal),
        ),
      ),
    ]);
    return outcome;
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener('abort', stop);
  }
}

/** Returns sandboxes whose guests trust a key. */
export function sandboxesAlive(store: Store): Promise<SandboxRecord[]> {
  return store.sandboxes.all(['requested', 'creating', 'running', 'paused', 'hibernated', 'warm']);
}

async function withinLimit(limit: AbortSignal, tell: () => Promise<boolean>): Promise<boolean> {
  try {
    return await tell();
  } catch (error) {
    if (!limit.aborted) throw error;
    return false;
  }
}

/** Updates a source by preparing it again, which changes nothing else. @returns false when that failed */
async function prepareSourceAgain(
  client: Client,
  store: Store,
  source: SourceAccess,
  limit: AbortSignal,
): Promise<boolean> {
  const { id: sourceId, hostId, installationId, name, preparedBy: actor } = source;
  if (!actor) return false;
  const sagas = new ApiTemporalClient(client);
  const began = new Date().toISOString();
  await sagas.sources.beginTask({ task: 'prepare', sourceId, hostId, installationId, name, actor });
  await sagas.sources.taskEnded({ hostId, name }, limit);
  const now = await store.sources.get(sourceId);
  return now?.state !== 'prepared' || (now.preparedAt ?? '') >= began;
}
