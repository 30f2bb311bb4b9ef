import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { type Answering, asks, type Elicitation, type Params } from '../../mcp/asks.ts';
import type { Revision } from '../../mcp/mcp-clients.ts';
import { McpDoor } from '../../mcp/mcp-door.ts';
import { RawRequests } from '../../mcp/raw-request.ts';
import { letTimePass } from '../../support/passage-of-time.ts';

/**
 * Holds: a request that waits for approval is shown to the caller's user with the approvals page; no answer of a client
 * decides it. A simulated host; about 20 s.
 */
let door: McpDoor;
let api: MayflyClient;
let person: MayflyClient;
beforeAll(async () => {
  door = await McpDoor.open();
  api = new MayflyClient({ baseUrl: door.url, apiKey: door.apiKey });
  const { secret } = await api.createKey({ name: 'person', scopes: ['approvals:decide'] });
  person = new MayflyClient({ baseUrl: door.url, apiKey: secret });
  await api.approvals.setPolicy([{ name: 'internet', when: { egress: 'internet' }, effect: 'ask' }]);
});
afterAll(() => door.close());

const approvalOf = (text: string) => /apr-[0-9a-z]{16}/.exec(text)?.[0] ?? '';

async function approve(id: string): Promise<void> {
  const { digest } = await person.approvals.get(id);
  await person.approvals.approve(id, { digest });
}

const askedBy = (revision: Revision, elicitation: Elicitation, answer: Answering) =>
  asks(door, revision, elicitation, answer);

/** Refuses after a second, as a person after reading it. */
async function refuseLater(id: string): Promise<void> {
  await letTimePass(1_000);
  const { state, digest } = await person.approvals.get(id);
  await person.approvals.refuse(id, { digest, reason: `it was ${state}` });
}

describe.each<Revision>(['2025-11-25', '2026-07-28'])('a user of a client of %s', (revision) => {
  it('is led to the approvals page, and the call continues after the approval', async () => {
    const shown: Params[] = [];
    const { data, text } = await askedBy(revision, { url: {} }, async (params) => {
      shown.push(params);
      void approve(approvalOf(params.message));
      return { action: 'accept' };
    });
    expect(data, text).toMatchObject({ state: 'running' });
    expect(shown).toHaveLength(1);
    const [{ message = '', ...rest } = {}] = shown as Partial<Params>[];
    expect(rest).toMatchObject({ mode: 'url', url: `${door.url}/approvals#${approvalOf(message)}` });
    expect(message).toMatch(/"egress":"internet".*\napr-.* waits for approval by approvals:decide, for: internet/);
    const { state, usedFor, decidedBy } = await api.approvals.get(approvalOf(message));
    expect({ state, usedFor }).toEqual({ state: 'used', usedFor: data['sandboxId'] });
    expect(decidedBy?.apiKeyId).not.toBe((await api.getSandbox(String(data['sandboxId']))).createdBy.apiKeyId);
  });

  it('withdraws it by declining, and nothing starts', async () => {
    let id = '';
    const { text, isError } = await askedBy(revision, { url: {} }, async ({ message }) => {
      id = approvalOf(message);
      return { action: 'decline' };
    });
    expect({ text, isError }).toMatchObject({ text: expect.stringContaining(`${id} is withdrawn`), isError: true });
    expect(await api.approvals.get(id)).toMatchObject({ state: 'withdrawn', usedFor: null });
  });

  it('decides nothing with a form, for any input', async () => {
    let id = '';
    const { text } = await askedBy(revision, { form: {} }, async (params) => {
      id = approvalOf(params.message);
      expect(params).toMatchObject({ requestedSchema: { properties: {} } });
      void refuseLater(id);
      return { action: 'accept', content: { approved: true, digest: 'yes', decision: 'approve' } };
    });
    expect(text).toContain('approval_refused');
    expect(text).toContain('it was awaiting-approval');
  });

  it('who cancels gets the waiting approval, as does a client without elicitation', async () => {
    for (const capabilities of [{ url: {} }, undefined]) {
      const { text, isError } = await askedBy(revision, capabilities, async () => ({ action: 'cancel' }));
      expect({ text, isError }).toMatchObject({
        text: expect.stringContaining('waits for approval by'),
        isError: true,
      });
      expect(await api.approvals.get(approvalOf(text))).toMatchObject({ state: 'awaiting-approval' });
    }
  });
});

it('a client that does not return starts nothing; a changed state is refused', async () => {
  const client = new RawRequests(door.apiKey, { elicitation: { url: {} } });
  const wish = { source: 'golden-debian12', egress: 'internet', metadata: { n: 'raw' } };
  const shown = await client.call(door.url, 'create_sandbox', wish);
  expect(shown).toMatchObject({
    resultType: 'input_required',
    inputRequests: { approval: { method: 'elicitation/create' } },
  });
  const requestState = shown['requestState'] as string;
  const inputResponses = { approval: { action: 'accept' } };
  const changed = `${requestState.slice(0, -3)}AAA`;
  const params = { name: 'create_sandbox', arguments: wish, inputResponses, requestState: changed };
  expect((await client.ask(door.url, 'tools/call', params)).error).toMatchObject({ code: -32_602 });

  const other = new RawRequests((await api.createKey({ name: 'other', scopes: ['admin'] })).secret, {});
  const stolen = await other.ask(door.url, 'tools/call', { ...params, requestState });
  expect(stolen.error).toMatchObject({ code: -32_602 });
});
