import { expect, test } from 'vitest';
import { createApp } from '../../api/app.ts';
import type { AppDeps } from '../../api/http/context.ts';
import { ERRORS } from '../../model/errors.ts';

const keyless = { authenticate: () => Promise.resolve(null) };
const app = createApp({ store: { apiKeys: keyless }, sagas: {}, logger: {}, version: '0' } as unknown as AppDeps);

async function got(path: string, headers = {}) {
  const response = await app.request(path, { headers });
  return { response, text: await response.text() };
}

const page = await got('/docs');
/** URLs of the parts that the page loads. */
const parts = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = '']) => url);

test('all parts are same-origin, public, and bounded in size', async () => {
  expect(parts).toEqual(expect.arrayContaining(['/docs/swagger-ui.js', '/docs/swagger-ui.css', '/docs/page.js']));
  expect(page.text.length).toBeLessThan(65_536);
  for (const path of parts) {
    if (path === 'data:,') continue; // no icon
    expect(path).toMatch(/^\/docs\/[a-z.-]+$/);
    const { response, text } = await got(path);
    expect(response.status, path).toBe(200);
    expect(response.headers.get('Content-Type')).toMatch(
      path.endsWith('.js') ? /^text\/javascript; charset=utf-8$/ : /^text\/css; charset=utf-8$/,
    );
    expect(text.length).toBeGreaterThan(0);
    expect(text.length).toBeLessThan(2_500_000);
    const unchanged = await got(path, { 'If-None-Match': response.headers.get('ETag') });
    expect([unchanged.response.status, unchanged.text]).toEqual([304, '']);
  }
});

test('the page runs only scripts that are separate files', async () => {
  for (const path of ['/docs', '/docs/page.js', '/docs/swagger-ui.js']) {
    const { response } = await got(path);
    const policy = response.headers.get('Content-Security-Policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
  }
  expect(page.text).not.toMatch(/<script(?! src="\/docs\/)|<style|\son\w+=|\sstyle=|javascript:/i);
});

test('page and script name no other origin, and the renderer contacts no validator', async () => {
  const { text } = await got('/docs/page.js');
  for (const mine of [page.text, text, (await got('/docs/page.css')).text]) expect(mine).not.toMatch(/\/\/[a-z]/i);
  expect(text).toContain('validatorUrl: null');
  const style = (await got('/docs/swagger-ui.css')).text;
  expect(style).not.toContain('@import');
  const pictures = [...style.matchAll(/url\(["']?([^"')]*)/g)].map(([, url = '']) => url);
  expect(pictures.filter((url) => !url.startsWith('data:'))).toEqual([]);
});

test('every error has the row that its `type` links to', () => {
  for (const code of Object.keys(ERRORS)) expect(page.text).toContain(`<tr id="${code}">`);
});

test('paths next to the page are not public', async () => {
  const closed = ['/docsx', '/docs/../v1/sandboxes', '/docs/%2e%2e/v1/keys', '//docs/page.js', '/v1/docs/'];
  for (const path of [...closed, '/docs/swagger-ui.js.map', '/docs/..%2fpackage.json']) {
    expect((await got(path)).response.status, path).toBe(401);
  }
});
