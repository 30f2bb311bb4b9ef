import { afterAll, beforeAll, expect, test } from 'vitest';
import { runLine } from '../../cli/run-line.ts';
import { IngressDoor } from '../../ports/ingress-door.ts';

let door: IngressDoor;

beforeAll(async () => {
  door = await IngressDoor.open();
});
afterAll(() => door?.close());

const run = (...args: string[]) =>
  runLine(door.ports, ['port', ...args], { env: { MAYFLY_URL: door.ports.url, MAYFLY_API_KEY: door.ports.key } });

test('a port is opened, listed, given another token, and closed', async () => {
  const { id } = door.ports;
  const opened = await run('open', id, '3000', '--ttl', '10m', '--cors');
  expect(opened).toMatchObject({
    code: 0,
    err: expect.stringMatching(/^good until 20.*Z; whoever has it may use port 3000\n$/),
  });
  expect(opened.out).toMatch(new RegExp(`^http://3000-${id}\\.localhost:\\d+/\\?mayfly-token=mfp_[\\w.-]+\\n$`));
  const again = JSON.parse((await run('open', id, '3000', '--cors', '--json')).out) as {
    port: number;
    token: { id: string };
  };
  expect(again).toMatchObject({ port: 3_000, cors: true, token: { id: expect.stringMatching(/^[0-9a-f]{16}$/) } });
  expect((await run('list', id)).out).toMatch(/^PORT +VISIBILITY .*\n3000 +token +localhost +yes +no +20/);
  expect((await run('token', id, '3000')).out).toMatch(/^http:.*mfp_/);
  expect(await run('token', id, '3000', '--void')).toMatchObject({
    code: 0,
    out: `All tokens of port 3000 of ${id} are void.\n`,
  });
  expect(await run('close', id, '3000')).toMatchObject({ code: 0, out: `Port 3000 of ${id} is closed.\n` });
  expect(await run('close', id, '3000')).toMatchObject({ code: 3, err: expect.stringContaining('mayfly port open') });
});

test('other settings, a reserved port, a 21st, and invalid values are refused with a remedy', async () => {
  const { id } = door.ports;
  const open = (port: number, ...more: string[]) => run('open', id, String(port), ...more);
  expect((await open(4_000, '--visibility', 'project')).err).toContain('X-Mayfly-Key');
  expect((await open(4_000)).err).toContain('open with visibility project');
  expect((await open(22)).err).toContain('mayfly ssh');
  expect((await run('token', id, '4000')).err).toContain('X-Mayfly-Key');
  const all = await Promise.all(Array.from({ length: 24 }, (_, n) => open(5_000 + n)));
  expect(all.filter(({ code }) => code === 0).length).toBeLessThanOrEqual(19);
  expect(await door.ports.door.store.exposedPorts.of(id)).toHaveLength(all.filter(({ code }) => code === 0).length + 1);
  expect(all.find(({ code }) => code !== 0)?.err).toContain('mayfly port close');
  expect(await run('open', id, '70000')).toMatchObject({ code: 2 });
  expect(await run('open', id, '3000', '--ttl', '2d')).toMatchObject({ code: 2 });
});
