import { setTimeout as delay } from 'node:timers/promises';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import { requestedRecord } from '../../model/sagas/requested-record.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { ServiceDeps } from '../service-deps.ts';

interface Deps extends Pick<ServiceDeps, 'sagas' | 'logger'> {
  store: { sandboxes: Pick<ServiceDeps['store']['sandboxes'], 'get' | 'create'> };
}

/** For how long one that was promised is tried to be begun. */
const WITHIN_MS = 300_000;
const PAUSE_MS = 1_000;

/**
 * Begins a saga. For whoever does not wait for its end, the record is written here as well as by the saga, which may take
 * longer to come to it; whichever is first. One that was there before began with a request of another time, so it alone
 * can write. Whether a name is free is the saga's to find out, so that no record of one is without a saga.
 *
 * When Temporal is too late to say whether it has begun, it counts as begun: the caller gets the id, and not an error upon
 * which another would be asked for. Then it is begun until it has, from here and, should this process end, by the reconciler.
 * @returns the record, where it is known here
 * @throws MayflyError temporal_unavailable when it is certain that nothing began
 */
export async function beginSaga(
  deps: Deps,
  input: SandboxInput,
  { seconds }: { seconds: number },
): Promise<SandboxRecord | null> {
  const { store, sagas, logger } = deps;
  const writes = input.name === undefined;
  try {
    if (seconds > 0 || !writes) {
      await sagas.sandboxes.create(input);
      return null;
    }
    if (!(await sagas.sandboxes.begin(input))) return null;
  } catch (error) {
    if (!(error instanceof MayflyError) || error.options.mayHaveBegun !== true) throw error;
    logger.warn({ err: error, sandboxId: input.id }, 'Temporal is late; it is asked until the saga has begun');
    void keepBeginning(deps, input);
    if (!writes) return requestedRecord(input);
  }
  return unlessAway(() => store.sandboxes.create(requestedRecord(input)), input);
}

/**
 * The record of what was begun; as it was asked for, while neither store nor Temporal answers.
 * @param begun what {@link beginSaga} knew of it
 * @throws MayflyError name_taken
 */
export async function recorded(
  { store, sagas }: Pick<Deps, 'store' | 'sagas'>,
  id: string,
  input: SandboxInput | null,
  begun: SandboxRecord | null = null,
): Promise<SandboxRecord> {
  return unlessAway(async () => {
    const present = await store.sandboxes.get(id);
    if (present) return present;
    await sagas.sandboxes.recorded(id);
    const record = (await store.sandboxes.get(id)) ?? begun;
    if (record) return record;
    throw new MayflyError('internal', `The saga of ${id} was accepted, but the store has no record of it.`);
  }, input);
}

async function unlessAway(look: () => Promise<SandboxRecord>, input: SandboxInput | null): Promise<SandboxRecord> {
  try {
    return await look();
  } catch (error) {
    if (input === null || !(error instanceof MayflyError) || !AWAY.includes(error.code)) throw error;
    return requestedRecord(input);
  }
}

const AWAY: readonly string[] = ['temporal_unavailable', 'store_unavailable'];

async function keepBeginning({ sagas, logger }: Deps, input: SandboxInput): Promise<void> {
  for (const until = Date.now() + WITHIN_MS; ; ) {
    await delay(PAUSE_MS, undefined, { ref: false });
    try {
      await sagas.sandboxes.create(input);
      return;
    } catch (error) {
      const isAway = isMayflyError(error, 'temporal_unavailable');
      if (isAway && Date.now() < until) continue;
      logger.error({ err: error, sandboxId: input.id }, 'a saga that was promised could not be begun');
      return;
    }
  }
}
