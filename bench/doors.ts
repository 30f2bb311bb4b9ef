import { randomUUID } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { MayflyClient } from '../clients/typescript/mayfly-client.ts';
import { type Bench, createRunning, destroy, WAIT, withSandbox } from './support/bench.ts';
import { type Figures, type Pair, Samples } from './support/measure.ts';

const REVISIONS = ['2025-11-25', '2026-07-28'] as const;

/** Measures interfaces over HTTP, each against the layer below it. */
export async function measureInterfaces(bench: Bench): Promise<Figures> {
  const samples = new Samples();
  await measureClient(bench, samples);
  for (const revision of REVISIONS) await measureMcp(bench, samples, revision);
  await measureApproved(bench, samples);
  const pairs: Pair[] = REVISIONS.map((revision) => ({
    what: `run_command by MCP of ${revision}`,
    ours: `MCP of ${revision}`,
    beside: `the API, beside ${revision}`,
    most: { moreMs: 15 },
  }));
  return {
    spreads: samples.spreads(),
    pairs: [
      { what: 'a call of the client', ours: 'client', beside: 'fetch', most: { times: 1.2 } },
      ...pairs,
      { what: 'an approved create', ours: 'approved create', beside: 'plain create', most: { times: 1.1 } },
    ],
  };
}

async function measureClient(bench: Bench, samples: Samples): Promise<void> {
  const { client, installation } = bench;
  const headers = { authorization: `Bearer ${installation.adminKey}`, accept: 'application/json' };
  await samples.rounds(bench, async (counted) => {
    await counted.time('client', () => client.listSandboxes());
    await counted.time('fetch', async () => (await fetch(`${installation.apiUrl}/v1/sandboxes`, { headers })).json());
  });
}

async function measureMcp(bench: Bench, samples: Samples, revision: (typeof REVISIONS)[number]): Promise<void> {
  const { client: api, installation } = bench;
  const mode = revision === '2025-11-25' ? 'legacy' : { pin: revision };
  const client = new Client({ name: 'bench', version: '0' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${installation.adminKey}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', installation.apiUrl), { requestInit }));
  try {
    await withSandbox(bench, async ({ id: sandbox }) => {
      const call = { name: 'run_command', arguments: { sandboxId: sandbox, command: 'true' } };
      await samples.rounds(bench, async (counted) => {
        const { isError, content } = await counted.time(`MCP of ${revision}`, () => client.callTool(call));
        if (isError) throw new Error(JSON.stringify(content));
        await counted.time(`the API, beside ${revision}`, () => api.commands.run(sandbox, { command: 'true' }, WAIT));
      });
    });
  } finally {
    await client.close();
  }
}

/** Times a create from its second request, which uses the approval, to `running`. */
async function measureApproved(bench: Bench, samples: Samples): Promise<void> {
  const { client, installation, source } = bench;
  const clientOf = async (name: string, scopes: Parameters<MayflyClient['createKey']>[0]['scopes']) => {
    const { secret } = await client.createKey({ name, scopes });
    return new MayflyClient({ baseUrl: installation.apiUrl, apiKey: secret });
  };
  const approver = await clientOf('approver', ['approvals:decide']);
  const requester = await clientOf('requester', ['sandboxes:read', 'sandboxes:write']);
  const network = { egress: 'internet' } as const;
  try {
    await samples.rounds(bench, async (counted) => {
      await client.approvals.setPolicy([]);
      const from = { client: requester, source };
      const plain = await counted.time('plain create', () => createRunning(from, { network }));
      await destroy(bench, plain.id);
      await client.approvals.setPolicy([{ name: 'asked', when: network, effect: 'ask' }]);
      const idempotencyKey = randomUUID();
      await requester.createSandbox({ source, network }, { waitSeconds: 0, idempotencyKey }).catch(() => {});
      const [waiting] = (await approver.approvals.list({ state: 'awaiting-approval', limit: 1 })).items;
      if (!waiting) throw new Error('nothing waits for approval');
      await approver.approvals.approve(waiting.id, { digest: waiting.digest });
      const create = () => requester.createSandbox({ source, network }, { ...WAIT, idempotencyKey });
      await destroy(bench, (await counted.time('approved create', create)).id);
    });
  } finally {
    await client.approvals.setPolicy([]);
  }
}
