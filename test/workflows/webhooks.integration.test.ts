import { Webhook } from 'standardwebhooks';
import { expect } from 'vitest';
import { deriveDeliveryId } from '../../model/ids.ts';
import { eventually } from '../support/eventually.ts';
import { useWebhookCases } from '../support/webhook-cases.ts';
import { lookAtWebhooks } from '../support/webhooks.ts';

/** Webhooks of runs, from the end of a run to their delivery. */
const { test, alone, mayfly: all, functions, webhooks, receiver } = useWebhookCases();

test('the end of a run is delivered, signed, without its input, followed by its cleanup', async () => {
  const path = '/ended';
  const types = ['run.ended', 'run.cleaned', 'run.dead-lettered'];
  const endpoint = await webhooks().create(receiver().at(path), { types });
  const name = await functions().deploy('echo \'"out"\' > $MAYFLY_RESULT');
  const run = await functions().run(name, { planted: 'canary-7431' });
  const ofRun = () =>
    receiver()
      .to(path)
      .filter(({ body }) => body.includes(run.id));
  await eventually(async () => ofRun(), { length: 2 });
  const [ended, cleaned] = ofRun();
  if (!ended || !cleaned) throw new Error('there are two');
  const verifier = new Webhook(endpoint.secret ?? '');
  expect(verifier.verify(ended.body, ended.headers)).toMatchObject({
    type: 'run.ended',
    timestamp: run.endedAt,
    data: { runId: run.id, function: name, outcome: 'succeeded', exitCode: 0, url: `/v1/runs/${run.id}` },
  });
  expect(verifier.verify(cleaned.body, cleaned.headers)).toMatchObject({
    type: 'run.cleaned',
    data: { runId: run.id, cleanup: 'proved' },
  });
  expect(ended.headers['content-type']).toBe('application/json');
  expect(ended.headers['webhook-id']).toBe(deriveDeliveryId(`${run.id}/run.ended`, endpoint.id));
  expect(ended.headers['webhook-id']).not.toBe(cleaned.headers['webhook-id']);
  expect(JSON.stringify(receiver().received)).not.toContain('canary-7431');
  expect(ended.body.length).toBeLessThan(20_000);
  const delivery = await webhooks().delivery(endpoint, ({ state }) => state === 'delivered');
  expect(delivery).toMatchObject({ attempts: [{ n: 1, outcome: 'delivered', status: 204 }], dueAt: null });
});

alone(
  'killed between what was answered and the record of it, it is sent again under the same id (case 45)',
  async () => {
    const { store, client } = all();
    const endpoint = await webhooks().create(receiver().at('/killed'));
    const record = await store.webhookEndpoints.get(endpoint.id);
    if (!record) throw new Error('there is one');
    const { newDelivery } = await import('../../model/webhooks/delivery.ts');
    const { endedEvent } = await import('../store/webhook-records.ts');
    const delivery = newDelivery(endedEvent(45), record, new Date().toISOString());
    const begun = new Date(Date.now() - 5_000).toISOString();
    await store.webhookDeliveries.create({ ...delivery, sendingSince: begun }, begun);
    await lookAtWebhooks({ store, client });
    const [sent] = await receiver().until('/killed', 1);
    expect(sent?.headers['webhook-id']).toBe(delivery.id);
    const known = await webhooks().delivery(endpoint, ({ state }) => state === 'delivered');
    expect(known.attempts).toMatchObject([
      { n: 1, at: begun, outcome: 'unknown', reason: expect.stringContaining('sent again under the same id') },
      { n: 2, outcome: 'delivered', status: 204 },
    ]);
  },
);
