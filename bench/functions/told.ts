import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import { Samples } from '../measure/measure.ts';

const LOOK_MS = 1_000;

interface ToldBench {
  client: MayflyClient;
  source: string;
  runs: number;
}

/** From the end of a run, as it is stored, until a receiver on the loopback has its webhook. */
export async function measureWebhooks({ client, source, runs }: ToldBench) {
  const samples = new Samples();
  const server = createServer((request, response) => {
    const at = Date.now();
    void json(request).then((body) => {
      const { data } = body as { data: { endedAt: string } };
      samples.add('outcome stored to request received', at - Date.parse(data.endedAt));
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await client.webhookEndpoints.create({ url, types: ['run.ended'] });
    await client.functions.deploy('told', { source, command: 'true' });
    for (let run = 0; run < runs; run++) {
      const { id } = await client.runs.create('told');
      await client.runs.ended(id);
    }
    return samples.spreads();
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** From each time of a schedule until its event is accepted, of a function that is paused. */
export async function measureSchedule({ client, source, runs }: ToldBench) {
  const samples = new Samples();
  await client.functions.deploy('timed', { source, command: 'true' });
  await client.functions.pause('timed');
  await client.schedules.set('often', { function: 'timed', every: '1s', overlap: 'allow-all' });
  let found = (await client.runs.list({ function: 'timed', limit: 200 })).items;
  while (found.length < runs) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    found = (await client.runs.list({ function: 'timed', limit: 200 })).items;
  }
  await client.schedules.delete('often');
  for (const { acceptedAt, schedule } of found) {
    if (schedule) samples.add('nominal to accepted', Date.parse(acceptedAt) - Date.parse(schedule.nominalAt));
  }
  return samples.spreads();
}
