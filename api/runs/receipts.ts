import { createRoute, z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { eventMediaType, type RunRecord } from '../../model/functions/run.ts';
import { requires } from '../http/auth.ts';
import { type App, type AppDeps, type RequestDeps, serialised } from '../http/context.ts';
import { problems } from '../http/problem-answers.ts';
import { instant, json, noQuery } from '../http/schemas.ts';
import { SAFE } from './result.ts';
import { runParams } from './run-schemas.ts';
import { requireRun } from './run-view.ts';

const ONE = '/v1/runs/{id}';

const envelope = z
  .object({
    payloadType: z.string(),
    payload: z.string().openapi({ description: 'Base64 of an in-toto Statement v1' }),
    signatures: z.array(z.object({ keyid: z.string(), sig: z.string().openapi({ description: 'Base64' }) })),
  })
  .openapi('Receipt');

const receiptKeys = z
  .object({
    items: z.array(
      z.object({
        keyid: z.string().openapi({ description: 'SHA-256 of the key in DER (SubjectPublicKeyInfo)' }),
        publicKey: z.string().openapi({ description: 'PEM' }),
        since: instant,
      }),
    ),
  })
  .openapi('ReceiptKeys');

const receiptOf = createRoute({
  method: 'get',
  path: `${ONE}/receipt`,
  tags: ['runs'],
  operationId: 'getRunReceipt',
  summary: 'Fetch the signed statement about a run: a DSSE envelope',
  middleware: [requires('sandboxes:read')],
  request: { params: runParams, query: noQuery },
  responses: {
    200: json('The envelope', envelope),
    ...problems('run_not_found', 'run_not_ended', 'receipt_not_ready'),
  },
});

const eventOf = createRoute({
  method: 'get',
  path: `${ONE}/event`,
  tags: ['runs'],
  operationId: 'getRunEvent',
  summary: 'Fetch the event of a run, byte for byte as its process has it; of a batch the list of its events',
  middleware: [requires('sandboxes:read')],
  request: { params: runParams, query: noQuery },
  responses: {
    200: {
      description: 'The event',
      content: {
        'application/cloudevents+json': { schema: z.record(z.string(), z.unknown()) },
        'application/cloudevents-batch+json': { schema: z.array(z.record(z.string(), z.unknown())) },
      },
    },
    ...problems('run_not_found', 'run_without_result'),
  },
});

const keysOf = createRoute({
  method: 'get',
  path: '/v1/receipt-keys',
  tags: ['runs'],
  operationId: 'listReceiptKeys',
  summary: 'List the public keys that verify receipts, the newest first; it takes no API key',
  security: [],
  request: { query: noQuery },
  responses: { 200: json('All that ever signed', receiptKeys), ...problems() },
});

export function receiptRoutes(app: App, { store }: Pick<AppDeps, 'store'>): void {
  app.openapi(receiptOf, async (c) => {
    const deps = c.get('deps');
    return c.json(await signedOf(deps, await requireRun(deps, c.req.valid('param').id)), 200);
  });
  app.openapi(eventOf, async (c) => {
    const deps = c.get('deps');
    const run = await requireRun(deps, c.req.valid('param').id);
    const event = await sentEvent(deps, run);
    return serialised(c.body(event, 200, { ...SAFE, 'Content-Type': eventMediaType(run) }));
  });
  app.openapi(keysOf, async (c) => c.json({ items: await store.receipts.keys() }, 200));
}

/** @throws MayflyError run_without_result */
async function sentEvent({ store }: RequestDeps, run: RunRecord): Promise<Uint8Array<ArrayBuffer>> {
  const event = await store.runs.event(run);
  if (event) return new Uint8Array(event);
  throw new MayflyError('run_without_result', `The event of ${run.id} is not there any more.`);
}

/** @throws MayflyError run_not_ended, receipt_not_ready */
async function signedOf({ store }: RequestDeps, { id, state, cleanup }: RunRecord) {
  if (state !== 'ended') throw new MayflyError('run_not_ended', `${id} is ${state}.`);
  const found = await store.receipts.get(id);
  if (found) return found;
  const why = cleanup === 'pending' ? 'its cleanup is not proved yet' : 'it is being signed';
  throw new MayflyError('receipt_not_ready', `${id} has no receipt yet: ${why}.`);
}
