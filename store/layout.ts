import { createHash } from 'node:crypto';
import type { Connection } from 'mongoose';
import { MayflyError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import { DEFAULT_PROJECT } from '../model/project.ts';
import { isFinal, SANDBOX_STATES } from '../model/sandbox/sandbox.ts';
import { ensureIndexes, INDEXES, UNIQUE } from './indexes.ts';
import { DUPLICATE_KEY, isForbidden, reaching, refusalsOf } from './mongo/failure.ts';

/** To be changed when one of the steps below does. */
const STEPS = 2;
/** How the collections are laid out: where a store says the same, there is nothing to do. */
const LAYOUT = createHash('sha256')
  .update(JSON.stringify([STEPS, INDEXES, UNIQUE]))
  .digest('hex');
/** Documents that are moved at once. */
const AT_ONCE = 100;

/** The collection that says how the others are laid out. */
export const LAYOUTS = 'layout';

type Document = Record<string, unknown> & { _id: string };

/**
 * Makes indexes, and puts what an earlier version has stored where this one looks for it. It may be cut short, and run
 * by several processes at once; where processes have users of their own, that of the control worker may. Takes about half a
 * millisecond an ended sandbox, and a few for each record that had no project, once.
 * @throws MayflyError store_unavailable
 */
export async function bringUpToDate(connection: Connection): Promise<void> {
  if ((await layoutOf(connection)) === 'this') return;
  try {
    await ensureIndexes(connection);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new MayflyError(
      'store_unavailable',
      'The store is not laid out as this version needs it, and the user of MONGODB_URI may not change that. Start the control worker of this version first.',
      { cause: error },
    );
  }
  await reaching('bring the store up to date', async () => {
    await moveEnded(connection);
    await markBusy(connection);
    await dateKeys(connection);
    for (const name of WITH_PROJECT) await giveProject(connection, name);
    await makeOperators(connection);
    await layoutsIn(connection).updateOne({ _id: 'layout' }, { $set: { layout: LAYOUT } }, { upsert: true });
  });
}

/** Whose layout a store has: this version's, another's, or none yet. */
export async function layoutOf(connection: Connection): Promise<'this' | 'other' | 'none'> {
  const present = await reaching('read the layout of the store', () =>
    layoutsIn(connection).findOne({ _id: 'layout' }),
  );
  if (!present) return 'none';
  return present.layout === LAYOUT ? 'this' : 'other';
}

function layoutsIn(connection: Connection) {
  return connection.collection<{ _id: string; layout: string }>(LAYOUTS);
}

/** Sandboxes that have ended were among the living. */
async function moveEnded(connection: Connection): Promise<void> {
  const [alive, ended] = ['sandboxes', 'endedSandboxes'].map((name) => connection.collection<Document>(name));
  if (!alive || !ended) return;
  for (;;) {
    const found = await alive
      .find({ state: { $in: SANDBOX_STATES.filter(isFinal) } })
      .limit(AT_ONCE)
      .toArray();
    if (found.length === 0) return;
    try {
      await ended.insertMany(found, { ordered: false });
    } catch (error) {
      if (!isRepetition(error)) throw error;
    }
    await alive.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } });
  }
}

/** All that was refused is there already. */
function isRepetition(error: unknown): boolean {
  const refusals = refusalsOf(error);
  return refusals !== null && [...refusals.values()].every(({ code }) => code === DUPLICATE_KEY);
}

/** Open commands were found by reading every sandbox's use. */
async function markBusy(connection: Connection): Promise<void> {
  const uses = connection.collection<Document>('uses');
  const busy = uses.find({ openCommands: { $exists: true, $ne: [] }, busy: { $exists: false } });
  for await (const { _id } of busy) await uses.updateOne({ _id }, { $set: { busy: 'yes' } });
}

/** What is listed by project. */
const WITH_PROJECT = ['sandboxes', 'endedSandboxes', 'snapshots', 'captures', 'bakedSources'];

/** There was one project, and nobody said so. Read to the end first: the embedded store writes nothing beside an open cursor. */
async function giveProject(connection: Connection, name: string): Promise<void> {
  const all = connection.collection<Document>(name);
  const without = { project: { $exists: false } };
  const found = await all.find(without, { projection: { _id: 1 } }).toArray();
  for (const { _id } of found) await all.updateOne({ _id, ...without }, { $set: { project: DEFAULT_PROJECT } });
}

/** Keys had no project, and `admin` was all there was to be. Both at once, so that it is done once to each. */
async function makeOperators(connection: Connection): Promise<void> {
  const keys = connection.collection<Document & { scopes: string[] }>('apiKeys');
  for (const { _id, scopes } of await keys.find({ project: { $exists: false } }).toArray()) {
    const raised = scopes.includes('admin') ? [...scopes, 'operator'] : scopes;
    await keys.updateOne({ _id, project: { $exists: false } }, { $set: { project: DEFAULT_PROJECT, scopes: raised } });
  }
}

/** Idempotency keys had the number of their first millisecond, which the embedded store has no index for. */
async function dateKeys(connection: Connection): Promise<void> {
  const keys = connection.collection<Document>('idempotency');
  for await (const { _id, createdAt } of keys.find({ expiresAt: { $exists: false } })) {
    const expiresAt = new Date(Number(createdAt) + LIMITS.idempotencyHours * 3_600_000).toISOString();
    await keys.updateOne({ _id }, { $set: { expiresAt }, $unset: { createdAt: '' } });
  }
}
