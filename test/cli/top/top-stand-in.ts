import type { Approval } from '../../../clients/typescript/http/openapi.ts';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import { sandboxRecord } from '../../clients/typescript/records.ts';
import { answerJson, StandIn } from '../../clients/typescript/stand-in.ts';

/** Login data for ssh, which is a stand-in too. */
const CREDENTIAL = {
  user: 'sandbox',
  address: '127.0.0.1',
  port: 22,
  hostKey: `ssh-ed25519 ${'A'.repeat(68)}`,
  certificate: 'ssh-ed25519-cert-v01@openssh.com AAAA',
};

/** Open approval request whose command would clear the screen. */
export const APPROVAL = {
  id: 'apr-0123456789abcdef',
  state: 'awaiting-approval',
  action: 'command.run',
  request: { command: 'ls\u001b[2J' },
  digest: '0'.repeat(64),
  rules: ['all'],
  askedAt: '2026-01-01T00:00:00.000Z',
  askedBy: { apiKeyId: 'k', agentId: null },
  decidedBy: null,
  reason: null,
  usedAt: null,
} as unknown as Approval;

/** Stand-in for an API with many sandboxes, read page by page. */
export class TopStandIn {
  sandboxes: SandboxRecord[] = [];
  pools: object[] = [];
  approvals: object[] = [];
  scopes = ['sandboxes:read', 'sandboxes:write'];
  /** Breaks every connection. */
  isGone = false;
  /** Accepts requests and never answers. */
  isSilent = false;
  readonly destroyed: string[] = [];

  private constructor(readonly server: StandIn) {}

  static async start(): Promise<TopStandIn> {
    const one = new TopStandIn(await StandIn.start());
    one.listen();
    return one;
  }

  listen(): void {
    this.server.answers(({ method, path }, response) => {
      const { pathname, searchParams } = new URL(path, this.server.url);
      const id = pathname.split('/')[3];
      if (this.isSilent) return;
      if (this.isGone) response.destroy();
      else if (method === 'DELETE') this.#destroy(id ?? '', (record) => answerJson(response, 202, record));
      else if (pathname === '/v1/usage') answerJson(response, 200, { scopes: this.scopes });
      else if (pathname === '/v1/approvals') answerJson(response, 200, { items: this.approvals, nextCursor: null });
      else if (!this.scopes.includes('sandboxes:read')) answerJson(response, 403, { code: 'forbidden' });
      else if (pathname === '/v1/pools') answerJson(response, 200, { items: this.pools, nextCursor: null });
      else if (pathname.endsWith('/credentials')) answerJson(response, 201, CREDENTIAL);
      else if (pathname.endsWith('/events')) this.#events(id ?? '', (text) => response.write(text));
      else answerJson(response, 200, id === undefined ? this.#page(searchParams) : this.#one(id));
    });
  }

  env(): NodeJS.ProcessEnv {
    return { MAYFLY_URL: this.server.url, MAYFLY_API_KEY: 'mfk_secret' };
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  #one(id: string): SandboxRecord | undefined {
    return this.sandboxes.find((sandbox) => sandbox.id === id);
  }

  #events(id: string, write: (text: string) => void): void {
    write(`event: sandbox\ndata: ${JSON.stringify(this.#one(id))}\n\n`);
  }

  #destroy(id: string, answer: (record: SandboxRecord | undefined) => void): void {
    const one = this.#one(id);
    this.destroyed.push(id);
    this.sandboxes = this.sandboxes.filter((other) => other !== one);
    answer(one && { ...one, state: 'destroying' });
  }

  #page(query: URLSearchParams) {
    const [state, cursor, limit] = [query.get('state'), query.get('cursor'), Number(query.get('limit') ?? 50)];
    const known = this.sandboxes.filter((one) => state === null || one.state === state);
    const start = cursor === null ? 0 : known.findIndex(({ id }) => id === cursor) + 1;
    const items = known.slice(start, start + limit);
    return { items, nextCursor: start + limit < known.length ? (items.at(-1)?.id ?? null) : null };
  }
}

/** Returns this many sandboxes, newest first. */
export function manySandboxes(count: number, changes: Partial<SandboxRecord> = {}): SandboxRecord[] {
  const now = Date.now();
  return Array.from({ length: count }, (_, n) =>
    sandboxRecord({
      id: `sbx-${String(n).padStart(16, '0')}`,
      name: `box-${n}`,
      state: 'running',
      phase: null,
      createdAt: new Date(now - 3_600_000 - n * 1_000).toISOString(),
      ...changes,
    }),
  );
}
