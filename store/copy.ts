import { MayflyError } from '../model/errors.ts';
import { createIndexes, LAYOUTS } from './layout.ts';
import { withStoreErrors } from './mongo/failure.ts';
import { openConnection } from './mongo/open.ts';

/** Documents per insert: chunks of output have 64 KiB each. */
const AT_ONCE = 64;

/**
 * Copies all documents, as stored, into an empty store and creates its indexes. Neither store may be written during the
 * copy; an interrupted copy leaves a non-empty target, which must be dropped.
 * @returns number of documents
 * @throws MayflyError store_unavailable, also when the target has documents
 */
export async function copyStore(fromUri: string, toUri: string): Promise<number> {
  const from = await openConnection(fromUri);
  try {
    const to = await openConnection(toUri);
    try {
      return await withStoreErrors('copy the store', async () => {
        for (const name of await collectionsOf(to))
          if ((await to.collection(name).findOne({})) !== null) throw notEmptyError(name);
        let copied = 0;
        for (const name of await collectionsOf(from)) {
          if (name === LAYOUTS) continue; // marks existing indexes; the target has none yet
          // The embedded store cannot write beside an open cursor of its own, but the target is another store.
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

function notEmptyError(name: string): MayflyError {
  return new MayflyError('store_unavailable', `The store that MONGODB_URI names is not empty: it has ${name}.`);
}
