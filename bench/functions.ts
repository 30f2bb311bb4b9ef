import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import mongoose from 'mongoose';
import { awaitMembers } from './pools.ts';
import { type Bench, createRunning, destroy, WAIT, withStore } from './support/bench.ts';
import { type Figures, Samples } from './support/measure.ts';

const POOL = 'runs';
const MEMBERS = 2;
/** Prints its start time, ms since 1970, so that no polling loads the measured cores. */
const COMMAND = 'date +%s%3N';
const POLL_MS = 1_000;
/** Ingested events, and times of a schedule, for each round of a part that creates. */
const EVENTS = 10;
const TIMES = 2;

/** Measures functions against the layers below them. */
export async function measureFunctions(bench: Bench): Promise<Figures> {
  const samples = new Samples();
  await withStore(bench, (_store, uri) => measureAccepting(bench, uri, samples));
  await measureRuns(bench, samples, null);
  await bench.client.pools.set(POOL, { source: bench.source, min: MEMBERS, max: MEMBERS });
  await measureRuns(bench, samples, POOL);
  await bench.client.pools.delete(POOL, WAIT);
  await measureWebhooks(bench, samples);
  await measureSchedule(bench, samples);
  return {
    spreads: samples.spreads(),
    pairs: [
      { what: 'an event, accepted', ours: 'accepted', beside: 'bare insert', most: { times: 4 } },
      {
        what: 'a whole run',
        ours: 'cold run, to its proof',
        beside: 'cold by hand, to its proof',
        most: { times: 1.1 },
      },
      {
        what: 'a run of a pool',
        ours: 'warm run, accepted to its first byte',
        beside: 'warm by hand, command',
        most: { times: 2 },
      },
    ],
  };
}

/** Times an event ingested over HTTP, and an insert of equal size into the same store by the driver alone. */
async function measureAccepting({ client, source, runs }: Bench, storeUri: string, samples: Samples): Promise<void> {
  await client.functions.deploy('paused', { source, command: 'true' });
  await client.functions.pause('paused');
  const connection = await mongoose.createConnection(storeUri).asPromise();
  try {
    const bare = connection.collection<{ _id: string; filling: string }>('bench');
    await samples.rounds({ runs: runs * EVENTS, warmUp: 50 }, async (counted) => {
      const filling = randomBytes(512).toString('hex');
      await counted.time('accepted', () => client.runs.create('paused', { filling }));
      await counted.time('bare insert', () => bare.insertOne({ _id: randomBytes(16).toString('hex'), filling }));
    });
  } finally {
    await connection.close();
  }
}

/**
 * Times a run, from its event to its proof, and the same command in a sandbox by hand. @param pool null: none, both
 * boot
 */
async function measureRuns(bench: Bench, samples: Samples, pool: string | null): Promise<void> {
  const { client, source, runs } = bench;
  const kind = pool ? 'warm' : 'cold';
  await client.functions.deploy(kind, { source, command: COMMAND });
  const ready = async () => (pool ? awaitMembers(bench, pool, MEMBERS) : undefined);
  await samples.rounds({ runs, warmUp: 1 }, async (counted) => {
    await ready();
    await counted.time(`${kind} run, to its proof`, () => runOnce(bench, kind, counted));
    await ready();
    await counted.time(`${kind} by hand, to its proof`, async () => {
      const { id } = await counted.time(`${kind} by hand, create`, () => createRunning(bench));
      await counted.time(`${kind} by hand, command`, () => client.commands.run(id, { command: COMMAND }));
      await counted.time(`${kind} by hand, destroy`, () => destroy(bench, id));
    });
  });
}

async function runOnce({ client }: Bench, kind: 'warm' | 'cold', samples: Samples): Promise<void> {
  const { id } = await samples.time(`${kind} run, accepted`, () => client.runs.create(kind));
  const { outcome, cleanup, attempts, acceptedAt } = await client.runs.ended(id);
  const { bytes } = await client.runs.output(id, { stream: 'stdout' });
  const printedAt = Number(await new Response(bytes).text());
  samples.add(`${kind} run, accepted to its first byte`, printedAt - Date.parse(acceptedAt));
  const { boot } = await client.getSandbox(attempts[0]?.sandboxId ?? '');
  if (outcome === 'succeeded' && cleanup === 'proved' && (kind === 'cold' || boot?.way === 'warm')) return;
  throw new Error(`${id} is ${outcome}, its boot ${boot?.way}`);
}

/** Times the end of a run, from its record until a receiver on the loopback has its webhook. */
async function measureWebhooks({ client, source, runs }: Bench, samples: Samples): Promise<void> {
  const server = createServer((request, response) => {
    const at = Date.now();
    void json(request).then((body) => {
      const { data } = body as { data: { endedAt: string } };
      samples.add('outcome stored to webhook received', at - Date.parse(data.endedAt));
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await client.webhookEndpoints.create({ url, types: ['run.ended'] });
    await client.functions.deploy('announced', { source, command: 'true' });
    for (let run = 0; run < runs; run++) await client.runs.ended((await client.runs.create('announced')).id);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Times each time of a schedule until its event is ingested, for a paused function. */
async function measureSchedule({ client, source, runs }: Bench, samples: Samples): Promise<void> {
  await client.functions.deploy('timed', { source, command: 'true' });
  await client.functions.pause('timed');
  await client.schedules.set('often', { function: 'timed', every: '1s', overlap: 'allow-all' });
  const list = async () => (await client.runs.list({ function: 'timed', limit: 200 })).items;
  let found = await list();
  for (; found.length < runs * TIMES; found = await list()) await sleep(POLL_MS);
  await client.schedules.delete('often');
  for (const { acceptedAt, schedule } of found)
    if (schedule) samples.add('nominal to accepted', Date.parse(acceptedAt) - Date.parse(schedule.nominalAt));
}
