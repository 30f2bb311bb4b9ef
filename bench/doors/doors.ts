import { randomUUID } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { MayflyClient } from '../../client/mayfly-client.ts';
import { inTurn, WARM_UP } from '../measure/in-turn.ts';
import { round, Samples, type Spread } from '../measure/measure.ts';
import type { DoorsBench } from './doors-bench.ts';
import { cachedImage, imageStep } from './images.ts';
import { portBesideFile } from './ports.ts';
import { clientBesideHttpx, isPythonReady } from './python.ts';

/** One door, beside what it stands on. */
interface Row {
  door: string;
  /** As the issue has it: so many times, or so many milliseconds more, at most. */
  bound: { times: number } | { moreMs: number };
  /** Times both in turn, with the names `ours` and `beside`. */
  measure: (bench: DoorsBench, samples: Samples) => Promise<void>;
  /** Whether there is what is measured. `@default` there is */
  isThere?: () => boolean;
}

export interface DoorFigures {
  door: string;
  /** Of the medians. */
  ratio: number;
  moreMs: number;
  bound: Row['bound'];
  ours: Spread;
  beside: Spread;
}

const WAIT = { waitSeconds: 240 };

/** At least 0.7 of the speed of files. */
const BESIDE_FILES = { times: round(1 / 0.7) };

/** A door is one row: another one is another function here. */
const ROWS: Row[] = [
  { door: 'a call of the TypeScript client, beside fetch', bound: { times: 1.2 }, measure: clientBesideFetch },
  {
    door: 'a call of the Python client, beside httpx',
    bound: { times: 1.2 },
    measure: clientBesideHttpx,
    isThere: isPythonReady,
  },
  { door: 'run_command by MCP of 2025-11-25, beside the API', bound: { moreMs: 15 }, measure: mcpOf('2025-11-25') },
  { door: 'run_command by MCP of 2026-07-28, beside the API', bound: { moreMs: 15 }, measure: mcpOf('2026-07-28') },
  { door: 'an approved create, beside a plain one', bound: { times: 1.1 }, measure: approvedCreate },
  { door: '16 MiB by `port forward`, beside a file', bound: BESIDE_FILES, measure: portBesideFile('forward', 'file') },
  { door: '16 MiB by an open port, beside a file', bound: BESIDE_FILES, measure: portBesideFile('ingress', 'file') },
  {
    door: 'a small answer by `port forward`, beside stat of a file',
    bound: { moreMs: 5 },
    measure: portBesideFile('forward', 'small'),
  },
  {
    door: 'a small answer by an open port, beside stat of a file',
    bound: { moreMs: 5 },
    measure: portBesideFile('ingress', 'small'),
  },
  { door: 'an image of known steps, beside its first build', bound: { times: 0.1 }, measure: cachedImage },
  { door: 'a step of an image, beside command and snapshot', bound: { times: 1.2 }, measure: imageStep },
];

/** Each door in turn, ratios first. @throws RangeError when none has the words */
export async function measureDoors(bench: DoorsBench): Promise<DoorFigures[]> {
  const { words } = bench;
  const figures: DoorFigures[] = [];
  const rows = ROWS.filter(({ door }) => words.length === 0 || words.some((word) => door.includes(word)));
  if (rows.length === 0) throw new RangeError(`no door has ${words.join(', ')} in its name`);
  for (const { door, bound, measure, isThere } of rows) {
    if (isThere?.() === false) {
      process.stderr.write(`left out: ${door}\n`);
      continue;
    }
    const samples = new Samples();
    await measure(bench, samples);
    const { ours, beside } = samples.spreads();
    if (!ours || !beside) throw new RangeError(`${door} was not measured`);
    const ratio = round(ours.medianMs / beside.medianMs);
    figures.push({ door, ratio, moreMs: round(ours.medianMs - beside.medianMs), bound, ours, beside });
  }
  return figures;
}

export function doorsLines(figures: readonly DoorFigures[]): string[] {
  return figures.flatMap(({ door, ratio, moreMs, bound, ours, beside }) => {
    const held = 'times' in bound ? ratio <= bound.times : moreMs <= bound.moreMs;
    const most = 'times' in bound ? `${bound.times} times` : `${bound.moreMs} ms more`;
    const medians = `medians ${ours.medianMs} and ${beside.medianMs} ms, ${ours.runs} each`;
    return [`${ratio} times, ${moreMs} ms more (${most} at most${held ? '' : ': MISSED'}): ${door}; ${medians}`];
  });
}

async function clientBesideFetch(bench: DoorsBench, samples: Samples): Promise<void> {
  const { client, apiUrl, apiKey } = bench;
  const headers = { authorization: `Bearer ${apiKey}`, accept: 'application/json' };
  const bare = async () => (await fetch(`${apiUrl}/v1/sandboxes`, { headers })).json();
  await inTurn(bench, samples, () => client.listSandboxes(), bare);
}

function mcpOf(revision: '2025-11-25' | '2026-07-28') {
  return async (bench: DoorsBench, samples: Samples): Promise<void> => {
    const { client: api, apiUrl, apiKey, source } = bench;
    const mode = revision === '2025-11-25' ? 'legacy' : { pin: revision };
    const client = new Client({ name: 'bench', version: '0' }, { versionNegotiation: { mode } });
    const requestInit = { headers: { authorization: `Bearer ${apiKey}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', apiUrl), { requestInit }));
    const { id: sandbox } = await api.createSandbox({ source }, WAIT);
    try {
      const call = { name: 'run_command', arguments: { sandbox, command: 'true' } };
      const byApi = () => api.commands.run(sandbox, { command: 'true' }, { waitSeconds: 30 });
      await inTurn(bench, samples, () => client.callTool(call), byApi);
    } finally {
      await client.close();
      await api.destroySandbox(sandbox, WAIT);
    }
  };
}

/** From the second request, which uses what was approved, to `running`. */
async function approvedCreate(bench: DoorsBench, samples: Samples): Promise<void> {
  const { client, apiUrl, source, runs } = bench;
  const { secret } = await client.createKey({ name: 'approver', scopes: ['approvals:decide'] });
  const { secret: asker } = await client.createKey({ name: 'asker', scopes: ['sandboxes:read', 'sandboxes:write'] });
  const approver = new MayflyClient({ baseUrl: apiUrl, apiKey: secret });
  const asking = new MayflyClient({ baseUrl: apiUrl, apiKey: asker });
  const ask = { name: 'asked', when: { egress: 'internet' }, effect: 'ask' } as const;
  const wish = { source, network: { egress: 'internet' } } as const;
  try {
    for (let run = -WARM_UP; run < runs; run++) {
      const counted = run < 0 ? new Samples() : samples;
      await client.approvals.setPolicy([]);
      const plain = await counted.time('beside', () => asking.createSandbox(wish, WAIT));
      await client.destroySandbox(plain.id, WAIT);
      await client.approvals.setPolicy([ask]);
      const idempotencyKey = randomUUID();
      await asking.createSandbox(wish, { waitSeconds: 0, idempotencyKey }).catch(() => {});
      const [waiting] = (await approver.approvals.list({ state: 'awaiting-approval', limit: 1 })).items;
      if (!waiting) throw new Error('nothing waits for approval');
      await approver.approvals.approve(waiting.id, { digest: waiting.digest });
      const made = await counted.time('ours', () => asking.createSandbox(wish, { ...WAIT, idempotencyKey }));
      await client.destroySandbox(made.id, WAIT);
    }
  } finally {
    await client.approvals.setPolicy([]);
  }
}
