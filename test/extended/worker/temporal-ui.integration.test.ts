import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SEARCH_ATTRIBUTES } from '../../../model/sagas/messages.ts';
import { EncryptedPayloads } from '../../../worker/payloads/payload-codec.ts';
import { payloadKeys } from '../../../worker/payloads/payload-keys.ts';
import { startTemporalServer } from '../../../worker/servers/temporal-server.ts';
import { createTemporalUi } from '../../../worker/servers/temporal-ui.ts';
import { temporaryState } from '../../host/temporary-state.ts';

test('the UI has columns and a codec, and writes only if enabled', async () => {
  const { state, remove } = await temporaryState();
  const server = await startTemporalServer({ dir: join(state.root, 'temporal'), ui: true });
  try {
    const codec = new EncryptedPayloads(await payloadKeys(join(state.root, 'payload.key'), true));
    const ui = (writes: boolean) =>
      createTemporalUi(server.uiUrl ?? '', { namespace: 'default', codecs: [codec], writes });
    const [reading, writing] = [ui(false), ui(true)];
    const at = (path: string) => `http://127.0.0.1:8080${path}`;

    const settings = { DisableWriteActions: false, Codec: { Endpoint: at('/codec') } };
    expect(await (await writing.request(at('/api/v1/settings'))).json()).toMatchObject(settings);
    expect(await (await reading.request(at('/api/v1/settings'))).json()).toMatchObject({
      ...settings,
      DisableWriteActions: true,
    });

    const page = await reading.request(at('/namespaces/default/workflows'));
    const html = await page.text();
    for (const name of Object.values(SEARCH_ATTRIBUTES)) expect(html).toContain(name);
    expect(html.indexOf('namespace-workflow-table-columns')).toBeLessThan(html.indexOf('content-security-policy'));
    const [, script] = /src="|import\("(\/_app[^"]+)"/.exec(html) ?? [];
    expect((await reading.request(at(script ?? ''))).headers.get('content-type')).toContain('javascript');
    expect(await (await reading.request(at('/api/v1/namespaces/default/workflows'))).json()).toBeTypeOf('object');

    const encoding = Buffer.from('json/plain');
    const [encrypted] = await codec.encode([{ metadata: { encoding }, data: Buffer.from('"an input"') }]);
    const base64 = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString('base64');
    const metadata = Object.fromEntries(
      Object.entries(encrypted?.metadata ?? {}).map(([name, bytes]) => [name, base64(bytes)]),
    );
    const decoded = await reading.request(at('/codec/decode'), {
      method: 'POST',
      body: JSON.stringify({ payloads: [{ metadata, data: base64(encrypted?.data) }] }),
    });
    expect(await decoded.json()).toEqual({
      payloads: [{ metadata: { encoding: base64(encoding) }, data: base64(Buffer.from('"an input"')) }],
    });

    const terminate = '/api/v1/namespaces/default/workflows/x/terminate';
    const post = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    expect((await reading.request(at(terminate), post)).status).toBe(405);
    expect((await writing.request(at(terminate), post)).status).not.toBe(405);
    // A name that an attacker resolves to this address.
    expect((await reading.request('http://rebound.test:8080/api/v1/settings')).status).toBe(421);
    expect((await reading.request('http://localhost:8080/api/v1/settings')).status).toBe(200);
  } finally {
    await server.stop();
    await remove();
  }
});
