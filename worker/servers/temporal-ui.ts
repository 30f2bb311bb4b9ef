import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { proxy } from 'hono/proxy';
import { z } from 'zod';
import { SEARCH_ATTRIBUTES } from '../../model/sagas/messages.ts';
import { isEncrypted } from '../payloads/payload-codec.ts';

const { Payloads } = proto.temporal.api.common.v1;

/** Path that Temporal's UI and CLI call to decode inputs and results. */
const CODEC = '/codec';
/** Larger than a page of a history. */
const CODEC_BYTES = 32 * 1024 ** 2;
/** Read-only query for the call stack that the UI shows. */
const QUERY = '/api/v1/namespaces/:namespace/workflows/:id/runs/:run/query/:type';

/** Settings that the UI reads first from its server, some of them overridden. */
const SETTINGS = z.looseObject({ Codec: z.looseObject({}) });

interface TemporalUi {
  /** Namespace of the first list of workflows. */
  namespace: string;
  /** Empty: payloads stay encrypted. */
  codecs: readonly PayloadCodec[];
  /** True when it can cancel, terminate, signal and reset. */
  writes: boolean;
}

/**
 * Creates Temporal's UI for operators: inputs and results are readable, search attributes are columns, and it is
 * read-only unless configured otherwise.
 */
export function createTemporalUi(serverUrl: string, { namespace, codecs, writes }: TemporalUi): Hono {
  const app = new Hono();
  // Prevents DNS rebinding: a web page whose name resolves to this address could read data of this machine.
  app.use(async (c, next) => {
    const { hostname } = new URL(c.req.url);
    if (hostname !== 'localhost' && isIP(hostname.replace(/^\[|\]$/g, '')) === 0)
      return c.text('Open it by its address, or as localhost.', 421);
    await next();
  });
  app.post(`${CODEC}/decode`, bodyLimit({ maxSize: CODEC_BYTES }), async (c) => {
    const { payloads: sent } = Payloads.fromObject(await c.req.json());
    const payloads = await Promise.all(sent.map((payload) => decryptForDisplay(payload, codecs)));
    return c.json(Payloads.toObject(Payloads.create({ payloads }), { bytes: String }));
  });
  app.get('/api/v1/settings', async (c) => {
    const settings = SETTINGS.parse(await (await fetch(`${serverUrl}/api/v1/settings`)).json());
    const Endpoint = codecs.length > 0 ? new URL(CODEC, c.req.url).href : '';
    return c.json({ ...settings, DisableWriteActions: !writes, Codec: { ...settings.Codec, Endpoint } });
  });
  const pass = async (url: string, request: Request): Promise<Response> => {
    const answer = await proxy(new URL(url.slice(new URL(url).origin.length), serverUrl), request);
    if (!answer.headers.get('content-type')?.startsWith('text/html')) return answer;
    const page = (await answer.text()).replace('<head>', (head) => head + columnsScript(namespace));
    answer.headers.delete('content-length');
    return new Response(page, answer);
  };
  app.get('*', (c) => pass(c.req.url, c.req.raw));
  app.post(QUERY, (c) => pass(c.req.url, c.req.raw));
  app.all('*', (c) =>
    writes
      ? pass(c.req.url, c.req.raw)
      : c.text('Write actions are off; MAYFLY_TEMPORAL_UI_WRITES=on has them, and so has the `temporal` command.', 405),
  );
  return app;
}

/** Decrypts a payload for display; cleartext stays as it is. */
async function decryptForDisplay(payload: Payload, codecs: readonly PayloadCodec[]): Promise<Payload> {
  if (!isEncrypted(payload)) return payload;
  let payloads = [payload];
  for (const codec of codecs) payloads = await codec.decode(payloads);
  return payloads[0] ?? payload;
}

/** Serves it on the address of the server's UI, at a free port. @returns its URL, and a function that stops it */
export async function startTemporalUi(serverUrl: string, ui: TemporalUi): Promise<{ url: string; stop: () => void }> {
  const { hostname: address } = new URL(serverUrl);
  const answer = getRequestListener(createTemporalUi(serverUrl, ui).fetch);
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
  server.listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://${address}:${port}`, stop };
}

/** Sets default columns. Comes before the page's content security policy, which would forbid the script. */
function columnsScript(namespace: string): string {
  const { state, host, source, agent, function: fn, key, outcome } = SEARCH_ATTRIBUTES;
  const labels = ['Status', 'Workflow ID', 'Type', state, host, source, agent, fn, key, outcome, 'Start', 'End'];
  const columns = JSON.stringify({ [namespace]: labels.map((label) => ({ label })) }).replaceAll('<', '\\u003c');
  return `<script>localStorage['namespace-workflow-table-columns'] ??= ${JSON.stringify(columns)}</script>`;
}
