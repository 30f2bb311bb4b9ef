import { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { eventMediaType, type RunRecord } from '../../model/functions/run.ts';
import { requireRun } from '../../services/service-deps.ts';
import type { RequestDeps } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { instant, json } from '../http/schemas.ts';
import { runParams, SAFE } from './run-schemas.ts';

const route = routeOf('runs');

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

export const receiptRoutes: Route[] = [
  route('getRunReceipt', 'get', `${ONE}/receipt`, {
    scope: 'sandboxes:read',
    summary: 'Fetch the signed statement about a run: a DSSE envelope',
    in: { params: runParams },
    out: { 200: json('The envelope', envelope) },
    problems: ['run_not_found', 'run_not_ended', 'receipt_not_ready'],
    handle: async ({ deps, params }) => signedOf(deps, await requireRun(deps, params.id)),
  }),
  route('getRunEvent', 'get', `${ONE}/event`, {
    scope: 'sandboxes:read',
    summary: 'Fetch the event of a run, byte for byte as its process has it; of a batch the list of its events',
    in: { params: runParams },
    out: {
      200: {
        description: 'The event',
        content: {
          'application/cloudevents+json': { schema: z.record(z.string(), z.unknown()) },
          'application/cloudevents-batch+json': { schema: z.array(z.record(z.string(), z.unknown())) },
        },
      },
    },
    problems: ['run_not_found', 'run_without_result'],
    handle: async ({ c, deps, params }) => {
      const run = await requireRun(deps, params.id);
      const event = await sentEvent(deps, run);
      return c.body(event, 200, { ...SAFE, 'Content-Type': eventMediaType(run) });
    },
  }),
  route('listReceiptKeys', 'get', '/v1/receipt-keys', {
    scope: 'open',
    summary: 'List the public keys that verify receipts, the newest first; it takes no API key',
    out: { 200: json('All that ever signed', receiptKeys) },
    handle: async ({ wholeStore: store }) => ({ items: await store.receiptKeys.list() }),
  }),
];

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
