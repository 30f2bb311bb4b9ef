import { describe, expect, test, vi } from 'vitest';
import { signDelivery } from '../../../services/webhooks/signing/sign.ts';
import type { Header } from '../../../services/webhooks/signing/verdict.ts';
import { EXAMPLES } from '../../services/webhooks/every-scheme.ts';
import { githubHeaders, JSON_TYPE, SECRET, said, useHooks } from './use-hooks.ts';

// Guards: a signed event runs once, an unsigned one never, and a refusal has no reason. Numbers:
// shared/cases/functions.md. Seconds.
const { door, deploy, make, send, runsOf, lines } = useHooks();
const BODY = '{"ref":"refs/heads/main","repository":{"url":"https://api.github.com/repos/a/b"}}';

function wishOf({ scheme, verifies }: (typeof EXAMPLES)[number]) {
  const { scheme: name, ...hmac } = scheme;
  return { scheme: name, secrets: [verifies], ...(name === 'hmac' && { hmac }) };
}
function signedBy(
  { scheme, secret }: (typeof EXAMPLES)[number],
  body: Uint8Array,
  now = Date.now(),
  id = 'msg_1',
): Header[] {
  const more: Header[] = scheme.scheme === 'github' ? [['x-github-event', 'push']] : [];
  return [...signDelivery(scheme, [secret], { id, body, now }), ...more, JSON_TYPE];
}
async function eventOf(runId: string | undefined): Promise<Record<string, unknown>> {
  const run = await door().store.runs.get(runId ?? '');
  if (!run) throw new Error(`no run ${runId}`);
  return { ...run.event };
}

describe.each(EXAMPLES)('$name', (example) => {
  test('is accepted, a repetition is a duplicate, and one with another secret is refused', async () => {
    const hook = await make(wishOf(example));
    const body = Buffer.from('{"id":"evt_1"}');
    const headers = signedBy(example, body);
    const first = await said(send(hook, headers, body));
    expect(first).toEqual({ status: 202, runId: expect.stringMatching(/^run-/) });
    expect(await said(send(hook, headers, body))).toEqual({ status: 200, runId: first.runId, duplicate: true });
    const other = await said(send(hook, signedBy({ ...example, secret: example.oldSecret }, body), body));
    expect(other).toMatchObject({ status: 401, code: 'signature_invalid' });
    expect(await door().store.runs.get(first.runId ?? '')).toMatchObject({
      state: 'queued',
      createdBy: {
        apiKeyId: (await door().store.hooks.get(hook.id))?.createdBy.apiKeyId,
        agentId: null,
        project: 'default',
      },
    });
  });
});

test('3: the same delivery 50 times at once is one run, returned to all', async () => {
  const hook = await make();
  const headers = githubHeaders(BODY);
  const answers = await Promise.all(Array.from({ length: 50 }, () => said(send(hook, headers, BODY))));
  expect(new Set(answers.map(({ runId }) => runId)).size).toBe(1);
  expect(answers.filter(({ status }) => status === 202).length).toBe(1);
  expect(answers.filter(({ status }) => status === 200).length).toBe(49);
  const kept = await door().store.hooks.get(hook.id);
  expect(await runsOf(kept?.function ?? '')).toBe(1);
  expect(door().sagas.woken).toContain(`default/${kept?.function}`);
});

test('4: the same delivery with another body is a conflict, logged without the body, and never runs', async () => {
  const hook = await make();
  const { runId } = await said(send(hook, githubHeaders(BODY, { id: 'one' }), BODY));
  const other = BODY.replace('main', 'planted');
  lines.length = 0;
  expect(await said(send(hook, githubHeaders(other, { id: 'one' }), other))).toMatchObject({
    status: 409,
    code: 'event_conflict',
  });
  const warnings = lines.filter((line) => line.includes(hook.id));
  expect(warnings).toEqual([expect.stringContaining(runId ?? '-')]);
  expect(JSON.parse(warnings[0] ?? '')).toMatchObject({ level: 40 });
  expect(lines.join()).not.toContain('planted');
  expect(await runsOf((await door().store.hooks.get(hook.id))?.function ?? '')).toBe(1);
});

test('4a: a Stripe retry is the same event, even when its body has changed', async () => {
  const hook = await make({ scheme: 'stripe', secrets: ['whsec_test'] });
  const sent = (pending: number) => {
    const body = JSON.stringify({ id: 'evt_1', object: 'event', pending_webhooks: pending });
    const delivery = { id: 'evt_1', body: Buffer.from(body), now: Date.now() };
    return said(send(hook, [...signDelivery({ scheme: 'stripe' }, ['whsec_test'], delivery), JSON_TYPE], body));
  };
  const { status, runId } = await sent(2);
  expect(status).toBe(202);
  expect(await sent(1)).toEqual({ status: 200, runId, duplicate: true });
});

test('5: the same event for two functions is two runs', async () => {
  const headers = githubHeaders(BODY, { id: 'two' });
  const runs = [];
  for (const hook of [await make(), await make()]) runs.push(await said(send(hook, headers, BODY)));
  expect(runs.map(({ status }) => status)).toEqual([202, 202]);
  expect(new Set(runs.map(({ runId }) => runId)).size).toBe(2);
});

describe('GitHub', () => {
  test.each([
    ['push', BODY, { type: 'com.github.push', source: 'https://api.github.com/repos/a/b' }],
    ['issues', '{"action":"opened","issue":{"number":7}}', { type: 'com.github.issues.opened' }],
    ['projects_v2_item', '{"action":"created"}', { type: 'com.github.projects_v2_item.created' }],
    ['repository_dispatch', '{"action":"on-demand"}', { type: 'com.github.repository_dispatch.on-demand' }],
    ['star', '{"action":"a b","repository":{"url":"not a uri"}}', { type: 'com.github.star' }],
  ])('%s becomes a CloudEvent', async (event, body, expected) => {
    const hook = await make();
    const { runId } = await said(send(hook, githubHeaders(body, { id: `of-${event}`, event }), body));
    expect(await eventOf(runId)).toMatchObject({ source: `/hooks/${hook.id}`, id: `of-${event}`, ...expected });
  });

  test('a form is verified as it was sent, and its payload is the data', async () => {
    const hook = await make({ filter: { conditions: [{ pointer: '/ref', in: ['refs/heads/main'] }] } });
    const body = `payload=${encodeURIComponent(BODY)}`;
    const headers = githubHeaders(body).filter(([name]) => name !== 'content-type');
    const form: Header = ['content-type', 'application/x-www-form-urlencoded'];
    expect(await said(send(hook, [...headers, form], body))).toMatchObject({ status: 202 });
  });

  test('a ping is answered when it is signed, and never runs', async () => {
    const hook = await make();
    expect(await said(send(hook, githubHeaders('{}', { event: 'ping' }), '{}'))).toEqual({ status: 200, ping: true });
    expect(await said(send(hook, githubHeaders('{}', { event: 'ping', secret: 'x' }), '{}'))).toMatchObject({
      status: 401,
    });
    expect(await runsOf((await door().store.hooks.get(hook.id))?.function ?? '')).toBe(0);
  });

  test.each(['x-github-delivery', 'x-github-event', 'x-hub-signature-256'])(
    'without %s it is refused in the same words',
    async (left) => {
      const hook = await make();
      const wrong = await said(send(hook, githubHeaders(BODY, { secret: 'x' }), BODY));
      const headers = githubHeaders(BODY).filter(([name]) => name !== left);
      const { requestId: _, ...answer } = (await said(send(hook, headers, BODY))) as Record<string, unknown>;
      expect(wrong).toMatchObject(answer);
      expect(answer).toMatchObject({ status: 401, code: 'signature_invalid' });
    },
  );
});

test('only events that match the filter run', async () => {
  const filter = { types: ['com.github.push'], conditions: [{ pointer: '/ref', in: ['refs/heads/main', null] }] };
  const hook = await make({ filter });
  const other = BODY.replace('main', 'next');
  expect(await said(send(hook, githubHeaders(BODY), BODY))).toMatchObject({ status: 202 });
  expect(await said(send(hook, githubHeaders(other), other))).toEqual({ status: 200, filtered: true });
  expect(await said(send(hook, githubHeaders('{}'), '{}'))).toEqual({ status: 200, filtered: true });
  expect(await said(send(hook, githubHeaders(BODY, { event: 'create' }), BODY))).toEqual({
    status: 200,
    filtered: true,
  });
});

test('37: during rotation both secrets are accepted, then only the new one', async () => {
  const hook = await make();
  const rotate = (secrets: string[]) => door().call('PUT', `/v1/hooks/${hook.id}/secrets`, { secrets });
  const statuses = async () => {
    const sent = ['new', SECRET].map((secret) => said(send(hook, githubHeaders(BODY, { secret }), BODY)));
    return (await Promise.all(sent)).map(({ status }) => status);
  };
  expect(await statuses()).toEqual([401, 202]);
  expect((await rotate(['new', SECRET])).status).toBe(200);
  expect(await statuses()).toEqual([202, 202]);
  expect(await (await rotate(['new'])).text()).toContain('"secretCount":1');
  expect(await statuses()).toEqual([202, 401]);
});

test('39: every unavailable hook is the same 404: unknown, no id, disabled, with a deleted or stopping function', async () => {
  const [disabled, gone, going] = [await make(), await make(), await make()];
  await door().call('POST', `/v1/hooks/${disabled.id}/disable`);
  const change = async (id: string) => {
    const kept = await door().store.hooks.get(id);
    return { project: 'default', name: kept?.function ?? '' };
  };
  await door().store.functions.remove(await change(gone.id));
  await door().store.functions.change(await change(going.id), { state: 'draining' });
  const unknown = { path: '/h/hok-zzzzzzzzzzzzzzzz' };
  const answers = [];
  for (const hook of [unknown, { path: '/h/x' }, disabled, gone, going]) {
    for (const headers of [githubHeaders(BODY), githubHeaders(BODY, { secret: 'x' }), []]) {
      const {
        requestId: _,
        instance: __,
        ...answer
      } = (await said(send(hook, headers, BODY))) as Record<string, unknown>;
      answers.push(answer);
    }
  }
  expect(answers[0]).toMatchObject({ status: 404, code: 'hook_not_found' });
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  const { hooks, functions } = door().store;
  for (const hook of [unknown, disabled, gone]) {
    const looks = [vi.spyOn(hooks, 'get'), vi.spyOn(functions, 'get')];
    await send(hook, githubHeaders(BODY), BODY);
    expect([hook.path, ...looks.map((look) => look.mock.calls.length)]).toEqual([hook.path, 1, 1]);
    vi.restoreAllMocks();
  }
  await door().call('POST', `/v1/hooks/${disabled.id}/enable`);
  expect(await said(send(disabled, githubHeaders(BODY), BODY))).toMatchObject({ status: 202 });
});

describe('40: a CloudEvent', () => {
  const event = { specversion: '1.0', id: 'a', source: '/s', type: 't', data: {} };
  const headers = {
    'ce-specversion': '1.0',
    'ce-id': 'b',
    'ce-source': '/s',
    'ce-type': 't',
    'content-type': 'application/json',
  };
  const { 'ce-id': _id, ...withoutId } = headers;
  test.each([
    ['with a charset', { 'content-type': 'application/cloudevents+json; charset=utf-8' }, 202],
    ['in capitals', { 'content-type': 'APPLICATION/CLOUDEVENTS+JSON' }, 202],
    ['in Avro', { 'content-type': 'application/cloudevents+avro' }, 415],
    ['in a batch', { 'content-type': 'application/cloudevents-batch+json' }, 415],
    ['in binary mode', headers, 202],
    ['with ce-datacontenttype', { ...headers, 'ce-datacontenttype': 'application/json' }, 400],
    ['with %C0%A0 in a header', { ...headers, 'ce-subject': '%C0%A0' }, 400],
    ['without ce-id', withoutId, 400],
  ])('%s', async (_name, more: Record<string, string>, status) => {
    const hook = await make({ scheme: 'bearer', secrets: ['token'] });
    const bearer: Header[] = [['authorization', 'Bearer token'], ...Object.entries(more)];
    const answer = await said(send(hook, bearer, JSON.stringify(event)));
    expect(answer.status).toBe(status);
    if (status === 202) expect(await eventOf(answer.runId)).toMatchObject({ source: '/s', type: 't' });
  });
});

test('an event invalid for the function is refused only after its signature is verified', async () => {
  const name = await deploy({ input: { schema: { type: 'object', required: ['a'] }, maxBytes: 400 } });
  const hook = await make({ function: name });
  const large = JSON.stringify({ a: 'x'.repeat(400) });
  expect(await said(send(hook, githubHeaders('{}'), '{}'))).toMatchObject({ status: 422, code: 'event_invalid' });
  expect(await said(send(hook, githubHeaders(large), large))).toMatchObject({ status: 413, code: 'event_too_large' });
  expect(await said(send(hook, githubHeaders('{}', { secret: 'x' }), '{}'))).toMatchObject({ status: 401 });
});
