import { randomBytes } from 'node:crypto';
import mongoose from 'mongoose';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import { round, Samples } from '../measure/measure.ts';

const WARM_UP = 50;

interface AcceptBench {
  client: MayflyClient;
  source: string;
  storeUri: string;
  runs: number;
}

/** An event that is accepted over HTTP beside a document of its size that is put into the same store by the driver alone, in turn. */
export async function measureAccepting({ client, source, storeUri, runs }: AcceptBench) {
  await client.functions.deploy('paused', { source, command: 'true' });
  await client.functions.pause('paused');
  const connection = await mongoose.createConnection(storeUri).asPromise();
  const counted = new Samples();
  try {
    const bare = connection.collection<{ _id: string }>('bench');
    for (let run = -WARM_UP; run < runs; run++) {
      const samples = run < 0 ? new Samples() : counted;
      const filling = randomBytes(512).toString('hex');
      await samples.time('accepted', () => client.runs.create('paused', { filling }));
      await samples.time('bare insert', () =>
        bare.insertOne({ _id: randomBytes(16).toString('hex'), filling } as never),
      );
    }
  } finally {
    await connection.close();
  }
  const { accepted, 'bare insert': bare } = counted.spreads();
  return { accepted, bare, ratio: round((accepted?.medianMs ?? Number.NaN) / (bare?.medianMs ?? Number.NaN)) };
}
