import { expect, it } from 'vitest';
import type { NewWebhookEndpoint, WebhookDelivery } from '../../clients/typescript/http/openapi.ts';
import { newDelivery } from '../../model/webhooks/delivery.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { endedEvent, endpointRecord } from '../store/webhook-records.ts';
import { runLine } from './run-line.ts';

// `mayfly webhook …` against a stand-in for the API. A second.

const server = useStandIn();

const { secrets: _secrets, slowed: _slowed, ...shown } = endpointRecord();
const made: NewWebhookEndpoint = { ...shown, publicKeys: [], secret: 'whsec_x' };
const sent: WebhookDelivery = newDelivery(endedEvent(), endpointRecord(), '2026-01-01T00:00:00.000Z');
const { id } = made;

async function line(args: string[], answer: unknown, status = 200) {
  server.answers((_request, response) => answerJson(response, status, answer));
  const { code, out, err } = await runLine(server, ['webhook', ...args]);
  const last = server.seen.at(-1);
  return { code, out, err, asked: last && `${last.method} ${last.path}`, body: last?.body };
}

it('prints the verification key alone on stdout', async () => {
  const created = await line(['create', made.url, '--types', 'run.ended, run.cleaned'], made, 201);
  expect(created).toMatchObject({ code: 0, out: 'whsec_x\n', asked: 'POST /v1/webhook-endpoints' });
  expect(created.err).toContain(id);
  const wish = { url: made.url, types: ['run.ended', 'run.cleaned'], format: 'standard', signature: 'v1' };
  expect(JSON.parse(created.body ?? '')).toEqual(wish);
  const rotated = await line(['rotate', id], { ...made, secret: null, publicKeys: ['whpk_y'] });
  expect(rotated).toMatchObject({ code: 0, out: 'whpk_y\n', asked: `POST /v1/webhook-endpoints/${id}/rotate` });
});

it('shows, changes and deletes endpoints', async () => {
  expect((await line(['list'], { items: [made], nextCursor: null })).out).toMatch(
    /whe-\S+ +enabled +run\.ended +https:/,
  );
  expect((await line(['show', id], { ...made, disabledAt: 'x', disabledFor: 'gone' })).out).toContain(
    'disabled (gone)',
  );
  const enabled = await line(['enable', id], made);
  expect(enabled).toMatchObject({ code: 0, asked: `PATCH /v1/webhook-endpoints/${id}`, body: '{"disabled":false}' });
  expect((await line(['delete', id], {})).asked).toBe(`DELETE /v1/webhook-endpoints/${id}`);
});

it('lists deliveries, and redelivers them', async () => {
  const listed = await line(['deliveries', id], { items: [sent], nextCursor: null });
  expect(listed.out).toMatch(/dlv-\S+ +run\.ended +pending +0/);
  const again = await line(['redeliver', id, sent.id], sent, 202);
  expect(again.asked).toBe(`POST /v1/webhook-endpoints/${id}/deliveries/${sent.id}/redeliver`);
  const recovered = await line(['recover', id, '--since', '2026-01-01T00:00:00Z'], { count: 7 }, 202);
  expect(recovered).toMatchObject({ out: '7 are sent again\n', body: '{"since":"2026-01-01T00:00:00.000Z"}' });
});

it.each([
  [['show', 'run-0000000000000000'], 'mayfly webhook list'],
  [['redeliver', id, 'x'], 'mayfly webhook deliveries'],
  [['create', 'https://example.com', '--types', 'run.began'], 'run.ended'],
  [['recover', id, '--since', 'yesterday'], '2026-01-31'],
])('%j is refused with a remedy', async (args, remedy) => {
  const { code, err } = await line(args, {});
  expect([code, err]).toEqual([2, expect.stringContaining(remedy)]);
});
