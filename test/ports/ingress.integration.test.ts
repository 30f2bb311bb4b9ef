import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { IngressDoor } from './ingress-door.ts';
import { type Seen, usePrograms } from './programs.ts';

let door: IngressDoor;
const programs = usePrograms((opened) => (door = opened));

test('a request with a token reaches the program, as if from its own machine', async () => {
  const port = await programs.mirror();
  const token = await door.expose(port);
  const host = door.hostOf(port);
  const headers = {
    'x-mayfly-token': token,
    authorization: 'Basic app',
    cookie: 'a=b; __Host-mayfly-token=x; c=d',
    origin: `http://${host}`,
  };
  const answer = await door.get(host, '/a?b=c', { method: 'POST', headers }, 'hello');
  expect(answer.status).toBe(200);
  const seen = JSON.parse(answer.text) as Seen;
  expect(seen).toMatchObject({ method: 'POST', url: '/a?b=c', body: 'hello' });
  const { headers: told } = seen;
  expect(told).toMatchObject({
    host: `localhost:${port}`,
    origin: `http://localhost:${port}`,
    authorization: 'Basic app',
    cookie: 'a=b; c=d',
  });
  expect(JSON.stringify(told)).not.toContain('mayfly');
});

test('a token in the URL is used once: a redirect leads to the clean URL, with a cookie for that host alone', async () => {
  const port = await programs.mirror();
  const token = await door.expose(port, {}, 60);
  const host = door.hostOf(port);
  const asked = Date.now();
  const sent = await door.get(host, `//evil.example/a?x=1&mayfly-token=${token}&y=%20`);
  expect(sent.status).toBe(303);
  expect(sent.headers).toMatchObject({
    location: `http://${host}//evil.example/a?x=1&y=%20`,
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
  const [cookie = ''] = sent.headers['set-cookie'] ?? [];
  const [, payload = '', life = ''] =
    /^__Host-mayfly-token=mfp_([^.;]+)\.[^;]+; Path=\/; Max-Age=(\d+); Secure; HttpOnly; SameSite=Lax$/.exec(cookie) ??
    [];
  const { e: endsAt } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { e: number };
  expect(Number(life)).toBeLessThanOrEqual(endsAt - Math.floor(asked / 1_000));
  expect(Number(life)).toBeGreaterThanOrEqual(endsAt - Math.ceil(Date.now() / 1_000));
  const jar = { cookie: `app=1; ${cookie.split(';')[0]}` };
  const seen = JSON.parse((await door.get(host, '/a', { headers: jar })).text) as Seen;
  expect(seen.headers.cookie).toBe('app=1');
  // Other methods would lose their body: they are passed on, without the token.
  const posted = await door.get(host, `/p?mayfly-token=${token}`, { method: 'POST' }, 'body');
  expect(JSON.parse(posted.text)).toMatchObject({ url: '/p', body: 'body' });
});

// Case 9.
test('everything unavailable is the same 404: unknown, wrong, expired, void, of another port, of a revoked key, of none', async () => {
  const port = await programs.mirror();
  const other = await programs.mirror();
  const token = await door.expose(port);
  const late = await door.expose(port, {}, 1);
  const ofOther = await door.expose(other);
  const host = door.hostOf(port);
  const [, said = '', proof = ''] = /^mfp_(.*)\.(.*)$/.exec(token) ?? [];
  await eventually(() => door.get(host, '/', { headers: { 'x-mayfly-token': late } }), { status: 404 });
  const nothing = [
    door.get(host, '/'),
    door.get(host, '/', { headers: { 'x-mayfly-token': late } }),
    door.get(host, '/', { headers: { 'x-mayfly-token': ofOther } }),
    door.get(host, '/', {
      headers: { 'x-mayfly-token': `mfp_${said}.${proof.replace(/./, (c) => (c === 'a' ? 'b' : 'a'))}` },
    }),
    door.get(host, '/', { headers: { 'x-mayfly-token': 'mfp_.' } }),
    door.get(host, '/', { headers: { 'x-mayfly-key': door.ports.key } }),
    door.get(host, '/', { headers: { authorization: `Bearer ${door.ports.key}` } }),
    door.get(door.hostOf(port, 'sbx-0000000000000000'), '/', { headers: { 'x-mayfly-token': token } }),
    door.get(door.hostOf(22), '/', { headers: { 'x-mayfly-token': token } }),
    door.get('example.com', '/', { headers: { 'x-mayfly-token': token } }),
    door.get(`x.${host}`, '/', { headers: { 'x-mayfly-token': token } }),
    door.get('localhost', `/${port}/`, { headers: { 'x-mayfly-token': token } }),
  ];
  const answers = await Promise.all(nothing);
  const bodies = answers.map(({ text: body }) => JSON.stringify({ ...JSON.parse(body), requestId: '', instance: '' }));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
  expect(new Set(bodies).size).toBe(1);
  expect((await door.get(host, '/', { headers: { 'x-mayfly-token': token } })).status).toBe(200);
});

test('an API key of the project opens a project port; another project or a read-only key does not', async () => {
  const port = await programs.mirror();
  await door.expose(port, { visibility: 'project' });
  const { key } = door.ports.door;
  await door.ports.door.store.projects.create('other');
  const by = async (secret: string) =>
    (await door.get(door.hostOf(port), '/', { headers: { 'x-mayfly-key': secret } })).status;
  expect(await by(door.ports.key)).toBe(200);
  expect(await by(await key('sandboxes:read'))).toBe(404);
  expect(await by(await key.in('other', 'admin'))).toBe(404);
  const refused = await door.ports.door.call('POST', `/v1/sandboxes/${door.ports.id}/ports/${port}/tokens`, {});
  expect(refused.headers.get('x-mayfly-code')).toBe('port_without_tokens');
});

test('X-Forwarded-* are set, replacing any spelling of them; a foreign Origin is kept', async () => {
  const port = await programs.mirror();
  const token = await door.expose(port);
  const host = door.hostOf(port);
  const headers = {
    'x-mayfly-token': token,
    'x-forwarded-for': '10.0.0.1',
    'x-forwarded-host': 'evil.example',
    X_Forwarded_Host: 'evil.example',
    X_Mayfly_Token: 'x',
    forwarded: 'for=10.0.0.1',
    'x-real-ip': '10.0.0.1',
    connection: 'x-secret, close',
    'x-secret': 'of this connection',
    te: 'trailers',
    origin: 'https://evil.example',
    referer: `http://${host}/?mayfly-token=${token}`,
  };
  const { headers: told } = JSON.parse((await door.get(host, '/', { headers })).text) as Seen;
  expect(told).toEqual({
    host: `localhost:${port}`,
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': `localhost:${port}`,
    'x-forwarded-proto': 'http',
    origin: 'https://evil.example',
    connection: 'close',
  });
});

test('with `preserve` the program gets the public name, and nothing is translated', async () => {
  const port = await programs.serve((incoming, answer) => {
    answer.setHeader('location', `http://localhost:${port}/there`);
    answer.end(JSON.stringify(incoming.headers));
  });
  const token = await door.expose(port, { host: 'preserve' });
  const host = door.hostOf(port);
  const answer = await door.get(host, '/', { headers: { 'x-mayfly-token': token, origin: `http://${host}` } });
  expect(JSON.parse(answer.text)).toMatchObject({ host, 'x-forwarded-host': host, origin: `http://${host}` });
  expect(answer.headers.location).toBe(`http://localhost:${port}/there`);
});

// Case 7.
test('redirects are passed on and never followed; only those between the two origins are translated', async () => {
  const asked: string[] = [];
  const port = await programs.serve(({ url = '' }, answer) => {
    asked.push(url);
    answer.writeHead(302, { location: decodeURIComponent(url.slice(1)) }).end();
  });
  const token = await door.expose(port);
  const host = door.hostOf(port);
  const to = async (where: string) => {
    const path = `/${encodeURIComponent(where)}`;
    const answer = await door.get(host, path, { headers: { 'x-mayfly-token': token } });
    return answer.status === 302 ? answer.headers.location : answer.status;
  };
  for (const same of [
    'http://169.254.169.254/latest/',
    `${door.ports.url}/v1/keys`,
    '/relative',
    '//x.example/',
    'https://a.example/',
  ]) {
    expect(await to(same)).toBe(same);
  }
  expect(await to(`http://localhost:${port}/x?y#z`)).toBe(`http://${host}/x?y#z`);
  expect(await to(`http://localhost:${port}`)).toBe(`http://${host}`);
  expect(await to(`http://localhost:${port}.evil.example/`)).toBe(`http://localhost:${port}.evil.example/`);
  expect(asked).toHaveLength(8);
});

test("headers of a program are confined to its host: cookies lose Domain, and it cannot set Mayfly's or a proxy's", async () => {
  const port = await programs.serve((_incoming, answer) => {
    answer.setHeader('set-cookie', [
      'a=1; Domain=localhost; Path=/',
      'b=2; HttpOnly; domain = .example.com',
      '__Host-mayfly-token=x; Path=/',
    ]);
    answer.setHeader('x-mayfly-code', 'not_found');
    answer.setHeader('x-accel-redirect', '/internal/secret');
    answer.setHeader('x-sendfile', '/etc/shadow');
    answer.setHeader('alt-svc', 'h2="evil.example:443"');
    answer.setHeader('access-control-allow-origin', `http://localhost:${port}`);
    answer.end('ok');
  });
  const token = await door.expose(port);
  const { headers } = await door.get(door.hostOf(port), '/', { headers: { 'x-mayfly-token': token } });
  expect(headers['set-cookie']).toEqual(['a=1; Path=/', 'b=2; HttpOnly']);
  expect(headers['access-control-allow-origin']).toBe(`http://${door.hostOf(port)}`);
  for (const name of ['x-mayfly-code', 'x-accel-redirect', 'x-sendfile', 'alt-svc'])
    expect(headers).not.toHaveProperty(name);
});

test('a port at a path of the common name gets neither cookies nor an origin', async () => {
  const port = await programs.serve((incoming, answer) => {
    answer.setHeader('set-cookie', 'a=1');
    answer.setHeader('content-security-policy', "default-src 'self'");
    if (incoming.url === '/go') answer.writeHead(302, { location: '/there' });
    answer.end(JSON.stringify({ url: incoming.url, headers: incoming.headers }));
  });
  const token = await door.expose(port);
  const base = `/${port}-${door.ports.id}`;
  const name = `localhost:${door.listens}`;
  const answer = await door.get(name, `${base}/a/../b?mayfly-token=${token}&c`, { headers: { cookie: 'a=1' } });
  expect(answer.status).toBe(200);
  expect(answer.headers).not.toHaveProperty('set-cookie');
  expect(answer.headers['content-security-policy']).toMatch(
    /default-src 'self', sandbox allow-downloads(?!.*same-origin)/,
  );
  expect(answer.headers['referrer-policy']).toBe('no-referrer');
  const seen = JSON.parse(answer.text) as Seen;
  expect(seen.url).toBe('/a/../b?c');
  expect(seen.headers).toMatchObject({ 'x-forwarded-prefix': base });
  expect(seen.headers).not.toHaveProperty('cookie');
  const headers = { 'x-mayfly-token': token };
  expect((await door.get(name, `${base}/go`, { headers })).headers.location).toBe(`${base}/there`);
  expect((await door.get(name, base, { headers })).status).toBe(200);
  // Mayfly's cookie opens nothing there.
  expect((await door.get(name, `${base}/`, { headers: { cookie: `__Host-mayfly-token=${token}` } })).status).toBe(404);
});
