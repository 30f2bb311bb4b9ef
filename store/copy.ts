import { MayflyError } from '../model/errors.ts';
import { createIndexes, LAYOUTS } from './layout.ts';
import { reaching } from './mongo/failure.ts';
import { openConnection } from './mongo/open.ts';

/** Documents that are written at once: chunks of output have 64 KiB each. */
const AT_ONCE = 64;

/**
 * Copies all that a store has, as it is, into an empty one, and lays that out. Nobody may write to either meanwhile; what was cut
 * short leaves a store that is not empty, which is to be dropped.
 * @returns how many documents
 * @throws MayflyError store_unavailable, also when the other has documents
 */
export async function copyStore(fromUri: string, toUri: string): Promise<number> {
  const from = await openConnection(fromUri);
  try {
    const to = await openConnection(toUri);
    try {
      return await reaching('copy the store', async () => {
        for (const name of await collectionsOf(to))
          if ((await to.collection(name).findOne({})) !== null) throw notEmpty(name);
        let copied = 0;
        for (const name of await collectionsOf(from)) {
          if (name === LAYOUTS) continue; // it says which indexes there are, and there are none yet
          // The embedded store writes nothing beside an open cursor of its own, and this is another store.
          const all = from.collection(name).find({}, { promoteValues: false, batchSize: AT_ONCE });
          for await (const batch of batches(all)) {
            await to.collection(name).insertMany(batch);
            copied += batch.length;
          }
        }
        await createIndexes(to);
        return copied;
      });
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

async function collectionsOf({ db }: Awaited<ReturnType<typeof openConnection>>): Promise<string[]> {
  const listed = (await db?.listCollections({}, { nameOnly: true }).toArray()) ?? [];
  return listed.map(({ name }) => name).filter((name) => !name.startsWith('system.'));
}

async function* batches<T>(all: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const each of all) {
    batch.push(each);
    if (batch.length < AT_ONCE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function notEmpty(name: string): MayflyError {
  return new MayflyError('store_unavailable', `The store that MONGODB_URI names is not empty: it has ${name}.`);
}
