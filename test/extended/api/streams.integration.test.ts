import { afterEach, beforeAll, expect, it } from 'vitest';
import { LIMITS } from '../../../model/limits.ts';
import { problemOf, useDoor } from '../../api/support.ts';
import { record, sandboxId } from '../../store/support.ts';

const ALL = LIMITS.streams.ofSandboxes;

/** Projects, each with the sandbox of its index. */
const PROJECTS = ['default', 'alpha', 'beta', 'gamma'];

const door = useDoor();
const open: Response[] = [];
beforeAll(async () => {
  for (const [n, project] of PROJECTS.entries()) {
    await door.store.sandboxes.create({ ...record(n, { state: 'running' }), project });
  }
});
afterEach(async () => {
  for (const response of open.splice(0)) await response.body?.cancel();
});

/** Opens streams until one is refused, at most `most`; returns their number, and the refusal. */
async function openAll(n: number, key: string, most = ALL + 1): Promise<{ opened: number; refusal: Response | null }> {
  for (let opened = 0; opened < most; opened++) {
    const response = await door.call('GET', `/v1/sandboxes/${sandboxId(n)}/events`, undefined, {}, key);
    if (!response.ok) return { opened, refusal: response };
    open.push(response);
  }
  return { opened: most, refusal: null };
}

it('a key gets at most as many streams as it leaves free, and the next one gets some too', async () => {
  const [first, second] = [await door.key('sandboxes:read'), await door.key('sandboxes:read')];
  const { opened, refusal } = await openAll(0, first);
  expect(opened).toBe(ALL / 2);
  expect(await problemOf(refusal ?? Promise.reject(new Error('it was not refused')))).toMatchObject({
    status: 429,
    code: 'too_many_requests',
  });
  expect(refusal?.headers.get('Retry-After')).toMatch(/^\d+$/);
  expect((await openAll(0, second)).opened).toBe(ALL / 4);
});

it('a project with many keys gets at most as many streams as it leaves to others', async () => {
  for (const project of PROJECTS.slice(1)) await door.store.projects.create(project);
  const keys = await Promise.all(Array.from({ length: 6 }, () => door.key.in('alpha', 'sandboxes:read')));
  // Streams of the previous test end when their disconnect is noticed.
  const openWithAll = async () => {
    for (const key of keys) await openAll(1, key);
    return open.length;
  };
  await expect.poll(openWithAll).toBe(ALL / 2);
  expect((await openAll(2, await door.key.in('beta', 'sandboxes:read'))).opened).toBe(ALL / 4);
});

it("an ended stream frees its slot, and a project's own limit holds", async () => {
  await door.store.projects.change('gamma', { limits: { streams: 2 } });
  const key = await door.key.in('gamma', 'sandboxes:read');
  const { opened, refusal } = await openAll(3, key);
  expect([opened, refusal?.headers.get('X-Mayfly-Code')]).toEqual([2, 'project_quota_exceeded']);
  await open.pop()?.body?.cancel();
  await expect.poll(async () => (await openAll(3, key)).opened).toBe(1);
});
