import { pino } from 'pino';
import { afterEach, beforeAll, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { createApp } from '../../../api/app.ts';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { makeKeyPair } from '../../../host/ssh/key-pair.ts';
import { ownFetch } from '../../../mcp/http/mcp-door.ts';
import type { ApprovalRecord } from '../../../model/approvals/approval.ts';
import type { PolicyRule } from '../../../model/approvals/policy-rules.ts';
import { deriveApprovalId, deriveSourceId } from '../../../model/ids.ts';
import { LIMITS } from '../../../model/limits.ts';
import type { Problem } from '../../../services/problems/problem.ts';
import { host, jsonOf, noGuests, problemOf, useDoor } from '../../api/support.ts';
import { snapshot } from '../../store/support.ts';
import { listAuditKinds } from '../../support/audit-kinds.ts';
import { eventually } from '../../support/eventually.ts';
import { INSTALLATION } from '../../support/installation-id.ts';
import { textOf } from '../../support/stream-text.ts';

type Rule = Pick<PolicyRule, 'when' | 'effect'> & Partial<PolicyRule>;

const door = useDoor();
/** Key of an agent in the default project. */
let agent: string;
let agentKeyId: string;
let person: string;
let admin: string;
let sandboxId: string;
let snapshotId: string;
let keys = 0;

const NOW = { Prefer: 'wait=0' };
const named = (key = `k${keys++}`) => ({ ...NOW, 'Idempotency-Key': key });

beforeAll(async () => {
  const agents = ['sandboxes:read', 'sandboxes:write', 'sources:look'] as const;
  const { key, secret } = await door.store.apiKeys.create({ project: 'default', name: 'agent', scopes: agents });
  agent = secret;
  agentKeyId = key.id;
  person = await door.key('approvals:decide');
  admin = await door.key('admin');
  const wish = { source: 'golden', network: { egress: 'internet' } };
  ({ id: sandboxId } = await jsonOf<{ id: string }>(door.call('POST', '/v1/sandboxes', wish, {}, agent)));
  await door.store.sandboxes.update(sandboxId, { hostId: 'kvm-1' });
  const network = { egress: 'internet' } as const;
  await door.store.snapshots.create(
    snapshot(1, { state: 'ready', sandboxId, hostId: 'kvm-1', source: 'golden', network }),
  );
  snapshotId = snapshot(1, {}).id;
});
afterEach(() => setRules([]));

async function setRules(rules: readonly Rule[]): Promise<void> {
  const all = rules.map((rule, n) => ({ name: `r${n}`, ...rule }));
  const response = await door.call('PUT', '/v1/policies', { rules: all }, {}, admin);
  expect(response.status, await response.clone().text()).toBe(200);
}

const ask = (path: string, body: unknown, headers = named(), key = agent) =>
  door.call('POST', path, body, headers, key);
const create = (body: object = {}, headers = named()) => ask('/v1/sandboxes', { source: 'golden', ...body }, headers);
const run = (body: object, headers = named()) => ask(`/v1/sandboxes/${sandboxId}/commands`, body, headers);

async function waiting(response: Response | Promise<Response>): Promise<ApprovalRecord> {
  const answer = await response;
  expect(answer.status, await answer.clone().text()).toBe(202);
  const approval = await jsonOf<ApprovalRecord>(answer);
  expect(answer.headers.get('Location')).toBe(`/v1/approvals/${approval.id}`);
  expect(approval.state).toBe('awaiting-approval');
  return approval;
}

async function decide(verb: string, { id, digest }: ApprovalRecord, key = person, more: object = {}) {
  return door.call('POST', `/v1/approvals/${id}/${verb}`, { digest, ...more }, {}, key);
}

async function codeOf(response: Response | Promise<Response>): Promise<Problem['code'] | number> {
  const answer = await response;
  return answer.ok ? answer.status : (await problemOf(answer)).code;
}

// Promise: docs/approvals.md: no endpoint bypasses a rule. Costs 2 s.
describe('each rule at each of its endpoints', () => {
  const line = () => makeKeyPair('me').publicKey;
  const doors: [string, Rule['when'], () => Promise<Response>][] = [
    ['a create with egress', { egress: 'internet' }, () => create({ network: { egress: 'internet' } })],
    ['a fork that brings egress (case 9)', { egress: 'internet' }, () => ask('/v1/sandboxes', { snapshotId })],
    ['forks that bring egress', { egress: 'internet' }, () => ask('/v1/sandboxes', { snapshotId, count: 2 })],
    ['a create of much memory', { memoryMibOver: 100 }, () => create({ memoryMib: 101 })],
    ['a create as large as its source', { memoryMibOver: 63 }, () => create()],
    ['one sandbox too many', { sandboxesOver: 1 }, () => create()],
    ['forks of which some are too many', { sandboxesOver: 2 }, () => ask('/v1/sandboxes', { snapshotId, count: 2 })],
    ['a command', { command: 'nc' }, () => run({ command: 'echo x | nc y' })],
    ['a command as an argv', { command: 'nc' }, () => run({ argv: ['/bin/nc', 'y'] })],
    ['a command that cannot be told (case 7)', { command: 'nc' }, () => run({ command: 'n\\c' })],
    ['one in a substitution (case 7)', { command: 'nc' }, () => run({ command: '$(printf nc)' })],
    ['a command as root', { elevation: true }, () => run({ command: 'ls', user: 'root' })],
    ['a command with sudo', { elevation: true }, () => run({ command: 'sudo ls' })],
    ['a login, where commands are asked for', { command: 'nc' }, () => login()],
    ['a login, where elevation is', { elevation: true }, () => login()],
    ['a capture', { source: 'capture' }, () => ask('/v1/sources/golden/captures', {}, named(), operator)],
    ['a playbook, whose fresh sandbox has egress', { egress: 'internet' }, () => playbook()],
    ['a playbook, whose fresh sandbox is one too many', { sandboxesOver: 1 }, () => playbook()],
    ['a look at a source', { source: 'look' }, () => ask('/v1/sources/golden/commands', { command: 'ls' })],
  ];
  const playbook = () => ask(`/v1/sandboxes/${sandboxId}/playbook`, {});
  const login = () => ask(`/v1/sandboxes/${sandboxId}/credentials`, { publicKey: line() });
  let operator: string;
  beforeAll(async () => {
    operator = await door.key('operator');
    await door.store.hosts.describe(host('kvm-1'));
    const at = new Date().toISOString();
    const prepared = { state: 'prepared', preparedBy: null, updatedAt: at } as const;
    const source = {
      id: deriveSourceId('kvm-1', 'golden'),
      hostId: 'kvm-1',
      installationId: INSTALLATION,
      name: 'golden',
    };
    await door.store.sources.change(source, prepared);
  });

  it.each(doors)('%s', async (_what, when, request) => {
    await setRules([{ when, effect: 'ask' }]);
    const { id } = await waiting(request());
    expect(await listAuditKinds(door, id)).toEqual(['approval.requested']);
    if (!('command' in when) && !('elevation' in when)) {
      await setRules([{ when, effect: 'deny' }]);
      expect(await codeOf(request())).toBe('policy_denied');
    }
    await setRules([{ when, effect: 'allow' }]);
    expect(await codeOf(request())).not.toBe('policy_denied');
  });

  it('denies requests that cannot wait for an approval', async () => {
    const bytes = { 'Content-Type': 'application/octet-stream' };
    await setRules([{ when: { elevation: true }, effect: 'ask' }]);
    const file = `/v1/sandboxes/${sandboxId}/files/etc/sudoers`;
    expect(await codeOf(door.call('PUT', file, 'x', bytes, agent))).toBe('policy_denied');
    expect(await codeOf(door.call('DELETE', file, undefined, {}, agent))).toBe('policy_denied');
    await setRules([{ when: { source: 'look' }, effect: 'ask' }]);
    const read = '/v1/sources/golden/files/etc/hosts';
    expect(await codeOf(door.call('GET', read, undefined, {}, agent))).toBe('policy_denied');
  });

  it('allows requests that match no rule', async () => {
    await setRules([
      { when: { egress: 'internet' }, effect: 'deny' },
      { when: { memoryMibOver: 100 }, effect: 'deny' },
      { when: { command: 'nc' }, effect: 'deny' },
    ]);
    expect(await codeOf(create())).toBe(202);
    expect(await codeOf(run({ command: 'sync ' }))).toBe(202);
    expect(
      (await door.store.approvals.list({ project: 'default', limit: 200, state: 'awaiting-approval' })).items,
    ).toSatisfy((items: ApprovalRecord[]) => items.every(({ policyVersion }) => policyVersion > 0));
  });
});

describe('a request that requires approval', () => {
  const EGRESS: Rule = { when: { egress: 'internet' }, effect: 'ask' };
  const wish = { network: { egress: 'internet' } };
  beforeEach(() => setRules([EGRESS]));

  it('is done after its approval, by the same request, once (cases 3 and 8)', async () => {
    const headers = named();
    const before = door.sagas.started.length;
    const first = await waiting(create(wish, headers));
    const second = await waiting(create(wish, headers));
    expect(second.id).toBe(first.id);
    expect(door.sagas.started.length).toBe(before);
    expect(await codeOf(decide('approve', first))).toBe(200);
    expect(await codeOf(decide('approve', first))).toBe(200);
    const answers = await Promise.all([1, 2, 3].map(() => create(wish, headers)));
    const ids = await Promise.all(answers.map((answer) => jsonOf<{ id: string; createdBy: unknown }>(answer)));
    expect(new Set(ids.map(({ id }) => id)).size).toBe(1);
    expect(ids[0]?.createdBy).toMatchObject({ approvalId: first.id });
    const used = await door.store.approvals.get(first.id);
    expect(used).toMatchObject({ state: 'used', usedFor: ids[0]?.id });
    expect(await listAuditKinds(door, first.id)).toEqual(['approval.requested', 'approval.approved', 'approval.used']);
    expect(await codeOf(create({ ...wish, cpus: 2 }, headers))).toBe('idempotency_key_reused');
  });

  it('is the same for every process, including a new one (case 1)', async () => {
    const headers = named();
    const approval = await waiting(create(wish, headers));
    const { store, sagas } = door;
    const logger = pino({ level: 'silent' });
    const another = createApp({ store, sagas, guests: noGuests, version: '0.0.0', logger });
    const send = (path: string, body: object, key: string) =>
      another.request(path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    expect(await waiting(send('/v1/sandboxes', { source: 'golden', ...wish }, agent))).toEqual(approval);
    const { digest } = approval;
    expect((await send(`/v1/approvals/${approval.id}/approve`, { digest }, person)).status).toBe(200);
    const made = await jsonOf<{ id: string }>(create(wish, headers));
    const again = await jsonOf<{ id: string }>(send('/v1/sandboxes', { source: 'golden', ...wish }, agent));
    expect(again.id).toBe(made.id);
  });

  it('counts as waiting even if it is approved before the count', async () => {
    const { approvals } = door.store;
    vi.spyOn(approvals, 'isAmong').mockImplementationOnce(async ({ id }) => {
      const asked = await approvals.get(id);
      if (asked) await decide('approve', asked);
      return false;
    });
    expect((await create(wish, { ...named(), Prefer: 'wait=60' })).status).toBe(201);
  });

  it('continues when it is approved while its caller waits', async () => {
    const headers = { ...named(), Prefer: 'wait=60' };
    const answer = create(wish, headers);
    await decide('approve', await untilAsked(headers['Idempotency-Key']));
    expect((await answer).status).toBe(201);
  });

  it('cannot reuse its approval for another machine after the idempotency key was released', async () => {
    const headers = named();
    const approval = await waiting(create(wish, headers));
    await decide('approve', approval);
    const first = await jsonOf<{ id: string }>(create(wish, headers));
    const { apiKeyId } = approval.askedBy;
    const claim = { apiKeyId, key: headers['Idempotency-Key'], bodyDigest: '', subjectId: first.id };
    await door.store.idempotency.release(claim);
    expect(await codeOf(create(wish, headers))).toBe('approval_decided');
  });

  it('gets its approval back when nothing was started', async () => {
    const headers = { ...named(), Prefer: 'wait=60' };
    const other = await jsonOf<{ id: string }>(create({ name: 'taken' }));
    const answer = create({ ...wish, name: 'taken' }, headers);
    const approval = await untilAsked(headers['Idempotency-Key']);
    await decide('approve', approval);
    expect(await codeOf(answer)).toBe('name_taken');
    expect((await door.store.approvals.get(approval.id))?.state).toBe('approved');
    await door.store.sandboxes.update(other.id, { state: 'destroyed' });
    expect((await create({ ...wish, name: 'taken' }, headers)).status).toBe(201);
  });

  it('is approved or refused, not both (case 2)', async () => {
    const headers = named();
    const approval = await waiting(create(wish, headers));
    const codes = await Promise.all([decide('approve', approval), decide('refuse', approval)].map(codeOf));
    expect(codes).toEqual(expect.arrayContaining([200, 'approval_decided']));
  });

  it('is refused with a reason', async () => {
    const headers = named();
    const approval = await waiting(create(wish, headers));
    await decide('refuse', approval, person, { reason: 'not today' });
    const problem = await problemOf(create(wish, headers));
    expect(problem).toMatchObject({ code: 'approval_refused', status: 403 });
    expect(problem.detail).toContain('not today');
    expect(await listAuditKinds(door, approval.id)).toEqual(['approval.requested', 'approval.refused']);
  });

  it('expires, and can be withdrawn', async () => {
    await setRules([{ ...EGRESS, expiresSeconds: 1 }]);
    const late = named();
    const expiring = await waiting(create(wish, late));
    const taken = named();
    const withdrawn = await waiting(create(wish, taken));
    expect(await codeOf(door.call('POST', `/v1/approvals/${withdrawn.id}/withdraw`, undefined, {}, person))).toBe(
      'forbidden',
    );
    expect(await codeOf(door.call('POST', `/v1/approvals/${withdrawn.id}/withdraw`, undefined, {}, agent))).toBe(200);
    expect(await codeOf(create(wish, taken))).toBe('approval_decided');
    await eventually(() => jsonOf<ApprovalRecord>(door.call('GET', `/v1/approvals/${expiring.id}`)), {
      state: 'expired',
    });
    expect(await codeOf(decide('approve', expiring))).toBe('approval_decided');
    expect(await codeOf(create(wish, late))).toBe('approval_decided');
  });

  it('is stale when its source has changed (case 4)', async () => {
    const headers = named();
    const approval = await waiting(create(wish, headers));
    await decide('approve', approval);
    const [source] = host('kvm-1').sources;
    if (!source) throw new Error('the host has no source');
    await door.store.hosts.describe(host('kvm-1', { sources: [{ ...source, content: 'other' }] }));
    expect(await codeOf(create(wish, headers))).toBe('approval_stale');
    await door.store.hosts.describe(host('kvm-1'));
    expect(await codeOf(create(wish, headers))).toBe(202);
  });

  it('is denied when the policy was tightened, or its approver lacks the role (case 5)', async () => {
    const headers = named();
    await decide('approve', await waiting(create(wish, headers)));
    await setRules([{ ...EGRESS, role: 'admin' }]);
    expect(await codeOf(create(wish, headers))).toBe('approval_stale');
    await setRules([{ ...EGRESS, effect: 'deny' }]);
    expect(await codeOf(create(wish, headers))).toBe('policy_denied');
  });

  it("is not done after the approver's key was revoked (case 6)", async () => {
    const { key, secret } = await door.store.apiKeys.create({
      project: 'default',
      name: 'gone',
      scopes: ['approvals:decide'],
    });
    const headers = named();
    const [one, two] = [await waiting(create(wish, headers)), await waiting(create(wish))];
    // Created after the approval request.
    const { key: _late, secret: since } = await door.store.apiKeys.create({
      project: 'default',
      name: 'late',
      scopes: ['approvals:decide'],
    });
    expect(await codeOf(decide('approve', one, since))).toBe('forbidden');
    expect(await codeOf(decide('approve', one, secret))).toBe(200);
    await door.store.apiKeys.revokeUnlessLast(key.id);
    expect(await codeOf(decide('approve', two, secret))).toBe('unauthenticated');
    expect(await codeOf(create(wish, headers))).toBe('approval_stale');
  });

  it('cannot be decided by its requester, for another digest, or from another project', async () => {
    const both = await door.key('sandboxes:write', 'approvals:decide');
    const asked = await waiting(ask('/v1/sandboxes', { source: 'golden', agentId: 'bot', ...wish }, named(), both));
    expect(await codeOf(decide('approve', asked, both))).toBe('forbidden');
    expect(await codeOf(decide('approve', asked, person, { agentId: 'bot' }))).toBe('forbidden');
    expect(await codeOf(decide('approve', asked, agent))).toBe('forbidden');
    expect(await codeOf(decide('approve', { ...asked, digest: '0'.repeat(64) }))).toBe('approval_stale');
    await door.store.projects.create('elsewhere');
    const foreign = await door.key.in('elsewhere', 'admin');
    expect(await codeOf(decide('approve', asked, foreign))).toBe('approval_not_found');
    const others = door.call('GET', '/v1/policies?project=default', undefined, {}, foreign);
    expect(await codeOf(others)).toBe('project_not_found');
  });

  it('needs an idempotency key', async () => {
    const problem = await problemOf(create(wish, { Prefer: 'wait=0' } as never));
    expect(problem).toMatchObject({ code: 'idempotency_key_required', status: 400 });
  });

  async function untilAsked(key: string): Promise<ApprovalRecord> {
    const id = deriveApprovalId(agentKeyId, key);
    const asked = await eventually(
      () => door.store.approvals.get(id),
      (record) => record !== null,
    );
    if (!asked) throw new Error(`${id} was not asked for`);
    return asked;
  }
});

test('values of variables and standard input are hidden, but part of the digest', async () => {
  await setRules([{ when: { command: '*' }, effect: 'ask' }]);
  const headers = named();
  const asked = await waiting(run({ command: 'ls', env: { TOKEN: 'hidden-value' }, stdin: 'hidden-input' }, headers));
  expect(asked.request).toMatchObject({ command: 'ls', envNames: ['TOKEN'], stdinBytes: 12 });
  expect(JSON.stringify(asked)).not.toContain('hidden');
  const other = await waiting(run({ command: 'ls', env: { TOKEN: 'other' }, stdin: 'hidden-input' }));
  expect(other.digest).not.toBe(asked.digest);
});

test('a digest does not reveal hidden values', async () => {
  await setRules([{ when: { command: '*' }, effect: 'ask' }]);
  const [one, two] = [
    await waiting(run({ command: 'login', stdin: '1234' })),
    await waiting(run({ command: 'login', stdin: '1234' })),
  ];
  expect(one.digest).not.toBe(two.digest);
  expect(one).not.toHaveProperty('salt');
});

test.each([{ restoreId: 'op-0123456789abcdef' }, { parentSnapshotId: 'snp-0123456789abcdef' }])(
  'an approved command does not run on other disks: %j',
  async (changes) => {
    await setRules([{ when: { command: '*' }, effect: 'ask' }]);
    const headers = named();
    const asked = await waiting(run({ command: 'bash deploy.sh' }, headers));
    await decide('approve', asked);
    const before = await door.store.sandboxes.get(sandboxId);
    await door.store.sandboxes.update(sandboxId, changes);
    expect(await codeOf(run({ command: 'bash deploy.sh' }, headers))).toBe('approval_stale');
    const { parentSnapshotId = null } = before ?? {};
    await door.store.sandboxes.update(sandboxId, { parentSnapshotId, restoreId: null });
  },
);

test('concurrent creates are counted as quotas count them', async () => {
  const alive = (await door.store.admissions.useOf('default')).sandboxes;
  await setRules([{ when: { sandboxesOver: alive + 1 }, effect: 'deny' }]);
  const codes = await Promise.all(Array.from({ length: 6 }, () => codeOf(create())));
  expect(codes.filter((code) => code === 'policy_denied')).toHaveLength(5);
  expect((await door.store.admissions.useOf('default')).sandboxes).toBe(alive + 1);
});

test('a policy that denies commands closes the ports that type into a desktop, and the login', async () => {
  await setRules([{ when: { command: '*' }, effect: 'deny' }]);
  for (const port of [5_901, 5_903]) {
    const type = { 'Content-Type': 'application/octet-stream' };
    const path = `/v1/sandboxes/${sandboxId}/ports`;
    expect(await codeOf(door.call('POST', `${path}/${port}/connect`, '', type, agent))).toBe('policy_denied');
    expect(await codeOf(door.call('POST', path, { port }, {}, agent))).toBe('policy_denied');
  }
  const publicKey = makeKeyPair('me').publicKey;
  for (const when of [{ command: 'nc' }, { elevation: true }] as const) {
    await setRules([{ when, effect: 'deny' }]);
    expect(await codeOf(ask(`/v1/sandboxes/${sandboxId}/credentials`, { publicKey }))).toBe('policy_denied');
  }
});

// Promise: docs/approvals.md: the stream reports all waiting approvals of its project after any interruption, and no
// others. Costs 5 s.
describe('the stream of approvals', () => {
  const wish = { network: { egress: 'internet' } };
  const asking: PolicyRule = {
    name: 'internet',
    when: { egress: 'internet' },
    effect: 'ask',
    role: 'approvals:decide',
    expiresSeconds: 3_600,
  };
  const watching = (apiKey: string, signal: AbortSignal, headers: Record<string, string> = {}) => {
    const own = ownFetch(door.app);
    const fetch: typeof own = (input, init) =>
      own(input, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...headers } });
    return new MayflyClient({ baseUrl: 'http://mayfly', apiKey, fetch }).approvals.watch({ signal });
  };
  const until = async (seen: AsyncGenerator<Omit<ApprovalRecord, 'salt'>>, id: string, state: string) => {
    for await (const approval of { [Symbol.asyncIterator]: () => ({ next: () => seen.next() }) })
      if (approval.id === id && approval.state === state) return approval;
    throw new Error(`${id} was never ${state}`);
  };

  it('reports waiting approvals, and each change of them', async () => {
    await setRules([asking]);
    const headers = named();
    const before = await waiting(create(wish, headers));
    const stop = new AbortController();
    const seen = watching(person, stop.signal);
    await until(seen, before.id, 'awaiting-approval');
    const after = await waiting(create(wish));
    await until(seen, after.id, 'awaiting-approval');
    await decide('approve', before);
    await until(seen, before.id, 'approved');
    await create(wish, headers);
    await until(seen, before.id, 'used');
    await decide('refuse', after);
    await until(seen, after.id, 'refused');
    await setRules([{ ...asking, expiresSeconds: 1 }]);
    const late = await waiting(create(wish));
    await until(seen, late.id, 'expired');
    stop.abort();
    await expect(seen.next()).rejects.toThrow();
  });

  it('resumes after the last seen event, including decided approvals', async () => {
    await setRules([asking]);
    const since = new Date().toISOString();
    const approval = await waiting(create(wish));
    await decide('refuse', approval);
    const stop = new AbortController();
    await until(watching(person, stop.signal, { 'Last-Event-ID': since }), approval.id, 'refused');
    stop.abort();
  });

  it('is limited to one project', async () => {
    await door.store.projects.create('watched');
    const own = await door.key.in('watched', 'approvals:decide');
    await setRules([asking]);
    await waiting(create(wish));
    const response = await door.call('GET', '/v1/approvals/events', undefined, {}, own);
    expect(await textOf(response)).toBe(': this is what waits\n\n');
    expect(await codeOf(door.call('GET', '/v1/approvals/events?project=default', undefined, {}, own))).toBe(
      'project_not_found',
    );
    expect(
      await codeOf(door.call('GET', '/v1/approvals/events', undefined, {}, await door.key('sandboxes:write'))),
    ).toBe('forbidden');
    expect(await codeOf(door.call('GET', '/v1/approvals/events', undefined, { 'Last-Event-ID': 'x' }))).toBe(
      'invalid_request',
    );
  });
});

test('a project has a limit of waiting approvals', async () => {
  const { key, secret } = await door.store.apiKeys.create({
    project: 'default',
    name: 'many',
    scopes: ['sandboxes:write'],
  });
  await setRules([{ when: { command: '*' }, effect: 'ask' }]);
  const [asked] = (await door.store.approvals.list({ project: 'default', limit: 1 })).items;
  if (!asked) throw new Error('nothing was asked for');
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  for (let n = 0; n < LIMITS.approvals.waiting; n++) {
    const id = `apr-${String(n).padStart(16, '0')}`;
    await door.store.approvals.create({ ...asked, id, state: 'awaiting-approval', project: 'default', expiresAt });
  }
  const full = ask(`/v1/sandboxes/${sandboxId}/commands`, { command: 'ls' }, named(), secret);
  expect(await codeOf(full)).toBe('approvals_full');
  expect(key.project).toBe('default');
});

test('an unreadable policy denies until it is replaced', async () => {
  const { version } = await jsonOf<{ version: number }>(door.call('GET', '/v1/policies', undefined, {}, agent));
  const createdBy = { apiKeyId: 'x', agentId: null, project: 'default' };
  const createdAt = new Date().toISOString();
  const rules = [{ name: 'x', when: { moon: 'full' }, effect: 'ask' }] as never;
  await door.store.policies.add({ project: 'default', version: version + 1, rules, createdBy, createdAt });
  expect(await codeOf(create())).toBe('policy_denied');
  expect(await codeOf(run({ command: 'ls' }))).toBe('policy_denied');
  await setRules([]);
  expect(await codeOf(create())).toBe(202);
});

test('a policy can only be changed with its latest ETag', async () => {
  const read = await door.call('GET', '/v1/policies', undefined, {}, agent);
  const match = { 'If-Match': read.headers.get('ETag') ?? '' };
  expect((await door.call('PUT', '/v1/policies', { rules: [] }, match, admin)).status).toBe(200);
  expect(await codeOf(door.call('PUT', '/v1/policies', { rules: [] }, match, admin))).toBe('policy_changed');
  expect(await codeOf(door.call('PUT', '/v1/policies', { rules: [] }, {}, agent))).toBe('forbidden');
});

test.each([
  [{ when: { command: '' }, effect: 'ask' }],
  [{ when: { egress: 'internet' }, effect: 'maybe' }],
  [{ when: { egress: 'internet' }, effect: 'ask', role: 'sandboxes:write' }],
  [{ when: { egress: 'internet' }, effect: 'ask', expiresSeconds: 604_801 }],
])('%j is not a valid rule', async (rule) => {
  const response = await door.call('PUT', '/v1/policies', { rules: [{ name: 'a', ...rule }] }, {}, admin);
  expect(response.status).toBe(422);
});

const CONDITIONS = 'egress, memoryMibOver, sandboxesOver, source, elevation, command';
test.each([
  [{ memoryMibover: 1 }, 'rules.1.when.memoryMibover', `is none of ${CONDITIONS}`],
  [{ egress: 'internet', moon: 'full' }, 'rules.1.when.moon', 'is not a field of this request'],
  [{}, 'rules.1.when', `must have exactly one of ${CONDITIONS}`],
  [
    { egress: 'internet', command: 'nc' },
    'rules.1.when',
    expect.stringMatching(/^must have exactly one of .*\begress\b/),
  ],
  [{ egress: 'intrnet' }, 'rules.1.when.egress', expect.stringContaining('"internet"')],
  [{ command: 'a  b' }, 'rules.1.when.command', expect.stringContaining('1 to 8 words')],
  ['internet', 'rules.1.when', expect.stringContaining('expected object')],
  [{ '\u001b[2J': 1 }, 'rules.1.when.\ufffd[2J', `is none of ${CONDITIONS}`],
])('an error in %j is reported with its field', async (when, field, problem) => {
  const rules = [
    { name: 'good', when: { egress: 'internet' }, effect: 'ask' },
    { name: 'bad', when, effect: 'ask' },
  ];
  const refused = await problemOf(door.call('PUT', '/v1/policies', { rules }, {}, admin));
  expect(refused).toMatchObject({ code: 'invalid_request', errors: [{ field, problem }] });
  expect(refused.detail).toContain(field);
});
