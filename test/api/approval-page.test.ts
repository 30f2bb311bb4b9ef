import { createContext, runInContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createApp } from '../../api/app.ts';
import type { AppDeps } from '../../api/http/context.ts';

const keyless = { authenticate: () => Promise.resolve(null) };
const app = createApp({ store: { apiKeys: keyless }, sagas: {}, logger: {}, version: '0' } as unknown as AppDeps);
const page = await (await app.request('/approvals')).text();
const ID = 'apr-0123456789abcdef';

/** Element of the page, with the members its script uses. */
class Part {
  value = '';
  textContent = '';
  hidden = false;
  readonly listeners = new Map<string, (event: object) => void>();
  addEventListener(name: string, listener: (event: object) => void) {
    this.listeners.set(name, listener);
  }
  act(name: string) {
    this.listeners.get(name)?.({ preventDefault() {} });
  }
}

/** Runs the page's script in a minimal fake browser. */
async function opened(answer: (path: string, body: string | undefined) => object, status = 200) {
  const parts = new Map([...page.matchAll(/ id="?([a-z]+)"?/g)].map(([, id = '']) => [id, new Part()]));
  const asked: { path: string; method: string; authorization: string; body: string | undefined }[] = [];
  const fetch = async (path: string, init: { method: string; headers: Record<string, string>; body?: string }) => {
    const { method, headers, body } = init;
    asked.push({ path, method, authorization: headers['Authorization'] ?? '', body });
    return Response.json(answer(path, body), { status });
  };
  const document = { getElementById: (id: string) => parts.get(id) };
  const window = createContext({ document, fetch, location: { hash: `#${ID}` }, addEventListener() {} });
  runInContext(await (await app.request('/approvals/page.js')).text(), window);
  const part = (id: string) => parts.get(id) ?? new Part();
  return { part, asked };
}

test('the page and its parts are public, same-origin, and allow no other script', async () => {
  for (const path of ['/approvals', '/approvals/page.js', '/approvals/page.css']) {
    const { status, headers } = await app.request(path);
    expect(status).toBe(200);
    expect(headers.get('Content-Security-Policy')).toMatch(
      /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'$/,
    );
    expect(headers.get('Referrer-Policy')).toBe('no-referrer');
  }
  expect(page).not.toMatch(/<script>|\son[a-z]+=|style=/);
});

test("the page shows callers' text with hidden characters visible, and decides on the displayed digest", async () => {
  const record = { id: ID, digest: 'd'.repeat(64), request: { command: 'a\u001b[2K\u202eb\n<b>' } };
  const { part, asked } = await opened((path) => ({
    ...record,
    state: path.endsWith('e') ? 'approved' : 'awaiting-approval',
  }));
  part('key').value = 'mfk_person';
  part('login').act('submit');
  await expect.poll(() => part('state').textContent).toBe(`${ID} is awaiting-approval`);
  expect(part('record').textContent).toContain('"command": "a\\u001b[2K\\u{202e}b\\n<b>"');
  expect(part('decision').hidden).toBe(false);
  part('reason').value = 'tests';
  part('approve').act('click');
  await expect.poll(() => part('state').textContent).toBe(`${ID} is approved`);
  expect(part('decision').hidden).toBe(true);
  const path = `/v1/approvals/${ID}`;
  const authorization = 'Bearer mfk_person';
  const body = JSON.stringify({ digest: record.digest, reason: 'tests' });
  expect(asked).toEqual([
    { path, method: 'GET', authorization, body: undefined },
    { path: `${path}/approve`, method: 'POST', authorization, body },
  ]);
});

test('the page shows the reason of a refusal', async () => {
  const { part } = await opened(
    () => ({ title: 'Not yours', detail: 'who asks does not decide', remedy: 'Ask another.' }),
    403,
  );
  part('login').act('submit');
  await expect.poll(() => part('said').textContent).toBe('Not yours who asks does not decide Ask another.');
});
