import { expect, it } from 'vitest';
import { createSandbox } from '../../cli/demo/life.ts';
import { Io } from '../../cli/terminal/io.ts';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { sandboxRecord } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';

const server = useStandIn();

/** Creates a sandbox as the demo does; the API ends each create with these states. */
async function create(...ends: Partial<SandboxRecord>[]) {
  const printed: string[] = [];
  const sink = { write: (text: string | Uint8Array) => printed.push(text.toString()) };
  const { signal } = new AbortController();
  const io = new Io({ stdout: sink, stderr: sink, env: {}, signal, force: signal });
  let creates = 0;
  server.answers((_request, response) => answerJson(response, 200, sandboxRecord(ends[creates++] ?? {})));
  const client = new MayflyClient({ baseUrl: server.url, apiKey: 'mfk_x' });
  const created = createSandbox(io, client, { source: 'golden-debian12' });
  return { ...(await created.catch((error: Error) => ({ error: error.message }))), creates, said: printed.join('') };
}

const failed = (code: 'ip_timeout' | 'host_key_mismatch'): Partial<SandboxRecord> => ({
  state: 'failed',
  failure: { code, step: 'awaitIp', message: 'no address in 60 s' },
});

it('retries a create on a slow machine, and reports it', async () => {
  const { record, creates, said } = Object(await create(failed('ip_timeout'), failed('ip_timeout'), {}));
  expect([record?.state, creates]).toEqual(['running', 3]);
  expect(said).toContain('awaitIp: no address in 60 s');
  expect(said).toContain('creates another (3 of 3)');
});

it('fails at once for another reason, and after three timeouts', async () => {
  expect(await create(failed('host_key_mismatch'))).toMatchObject({ creates: 1, error: expect.any(String) });
  const slow = failed('ip_timeout');
  expect(await create(slow, slow, slow, slow)).toMatchObject({ creates: 3, error: expect.any(String) });
});
