import { describe, expect } from 'vitest';
import { deliveryWorkflowId } from '../../../model/webhooks/delivery-saga.ts';
import { verifySignature } from '../../../services/webhooks/signing/sign.ts';
import { eventually } from '../../support/eventually.ts';
import { INTERVENTIONS, intervene } from '../../support/interventions.ts';
import { sweepOn } from '../../support/sweep.ts';
import { useWebhookCases } from '../../support/webhook-cases.ts';
import { lookAtWebhooks } from '../../support/webhooks.ts';

/** Webhooks from the end of a run to its receivers. */
const { test, mayfly: all, door, functions, webhooks, receiver } = useWebhookCases();

const json = (text: string) => JSON.parse(text) as Record<string, unknown>;

describe('a run that fails is a dead letter', () => {
  test('sent as a CloudEvent, signed with a key pair, and to the destinations of its function', async () => {
    const dead = await webhooks().create(receiver().at('/dead'), {
      types: ['run.dead-lettered'],
      format: 'cloudevents',
      signature: 'v1a',
    });
    const only = { types: ['endpoint.disabled'] };
    const onFailure = await webhooks().create(receiver().at('/on-failure'), only);
    const onSuccess = await webhooks().create(receiver().at('/on-success'), only);
    const destinations = { onSuccess: onSuccess.id, onFailure: onFailure.id };
    const name = await functions().deploy('exit 3', { destinations });
    const run = await functions().run(name);
    const ofRun = (path: string) =>
      eventually(
        async () =>
          receiver()
            .to(path)
            .filter(({ body }) => body.includes(run.id)),
        (found) => found.length > 0,
      );
    const [letter] = await ofRun('/dead');
    if (!letter) throw new Error('there is one');
    expect(dead.secret).toBeNull();
    const request = {
      headers: Object.entries(letter.headers),
      body: Buffer.from(letter.body),
      now: Date.now(),
    };
    const scheme = { scheme: 'standard-webhooks' } as const;
    expect(verifySignature(scheme, dead.publicKeys, request)).toMatchObject({ verified: true });
    expect(letter.headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
    expect(json(letter.body)).toMatchObject({
      specversion: '1.0',
      id: `${run.id}/run.dead-lettered`,
      source: `/functions/${name}`,
      subject: run.id,
      type: 'run.dead-lettered',
      data: { outcome: 'failed', exitCode: 3, failure: { code: 'run_failed' } },
    });
    const [told] = await ofRun('/on-failure');
    expect(json(told?.body ?? '')).toMatchObject({ type: 'run.ended', data: { runId: run.id } });
    expect(receiver().to('/on-success')).toEqual([]);
  });

  test('also if it was never started (case 29), without a notification', async () => {
    const onFailure = await webhooks().create(receiver().at('/expired'), { types: ['schedule.missed'] });
    const name = await functions().deploy('true', { destinations: { onFailure: onFailure.id } });
    await functions().pause(name);
    const { id } = await functions().trigger(name);
    const at = new Date().toISOString();
    await all().store.runs.end(id, ['queued'], { outcome: 'expired', endedAt: at }, 30);
    await eventually(
      async () => {
        await lookAtWebhooks(all());
        return receiver().to('/expired');
      },
      (found) => found.length > 0,
    );
    expect(json(receiver().to('/expired')[0]?.body ?? '')).toMatchObject({ data: { runId: id, outcome: 'expired' } });
  });
});

test('state changes of a sandbox are published, except of sandboxes of runs', async () => {
  const types = ['sandbox.running', 'sandbox.destroyed'];
  await webhooks().create(receiver().at('/sandboxes'), { types });
  await functions().run(await functions().deploy('true'));
  const wait = { Prefer: 'wait=60' };
  const created = await door().call('POST', '/v1/sandboxes', { source: 'golden-debian12' }, wait);
  const { id } = (await created.json()) as { id: string };
  await door().call('DELETE', `/v1/sandboxes/${id}`, undefined, wait);
  await receiver().until('/sandboxes', 2);
  const bodies = receiver()
    .to('/sandboxes')
    .map(({ body }) => json(body));
  expect(bodies).toMatchObject([
    { type: 'sandbox.running', data: { sandboxId: id, state: 'running', cleanup: null, url: `/v1/sandboxes/${id}` } },
    { type: 'sandbox.destroyed', data: { sandboxId: id, stopReason: 'deleted', cleanup: 'proved' } },
  ]);
});

sweepOn(test)(INTERVENTIONS)('a delivery with retries, its workflow: %s', async (kind) => {
  const { client } = all();
  const path = `/intervened-${kind.replaceAll(' ', '-')}`;
  const isRefusing = { now: true };
  const endpoint = await webhooks().create(
    receiver().at(path, (response) => void response.writeHead(isRefusing.now ? 503 : 204).end()),
  );
  await functions().run(await functions().deploy('true'));
  const { id } = await webhooks().delivery(endpoint, ({ attempts }) => attempts.length > 0);
  await intervene(client, deliveryWorkflowId(id), kind);
  if (kind.startsWith('cancel')) {
    expect(await webhooks().delivery(endpoint, ({ state }) => state !== 'pending')).toMatchObject({ state: 'failed' });
    return;
  }
  isRefusing.now = false;
  expect((await webhooks().redeliver({ endpointId: endpoint.id, id })).status).toBe(202);
  await lookAtWebhooks(all());
  expect(await webhooks().delivery(endpoint, ({ state }) => state !== 'pending')).toMatchObject({ state: 'delivered' });
});

test('a missed time of a schedule is published once', async () => {
  const { store } = all();
  await webhooks().create(receiver().at('/missed'), { types: ['schedule.missed'] });
  const at = '2026-03-01T09:00:00.000Z';
  const time = {
    project: 'default',
    schedule: 'nightly',
    at,
    localTime: '2026-03-01T10:00:00',
    triggerId: null,
  } as const;
  const became = {
    state: 'missed',
    reason: 'overlap',
    detail: null,
    runId: null,
    recordedAt: new Date().toISOString(),
  } as const;
  const missed = { ...time, ...became };
  await store.scheduleTimes.putMissed([missed], '2999-01-01T00:00:00.000Z');
  await lookAtWebhooks(all());
  await receiver().until('/missed', 1);
  await eventually(() => store.scheduleTimes.untold(5), { length: 0 });
  await store.scheduleTimes.put(missed, '2999-01-01T00:00:00.000Z'); // by another process that finds it
  await lookAtWebhooks(all());
  expect(await store.scheduleTimes.untold(5)).toEqual([]);
  expect(
    receiver()
      .to('/missed')
      .map(({ body }) => json(body)),
  ).toEqual([
    {
      type: 'schedule.missed',
      timestamp: missed.recordedAt,
      data: {
        schedule: 'nightly',
        at,
        localTime: time.localTime,
        reason: 'overlap',
        url: '/v1/schedules/nightly/times?state=missed',
      },
    },
  ]);
});
