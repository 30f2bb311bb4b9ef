import { describe, expect, it } from 'vitest';
import { buildTar } from '../../../model/image/tar.ts';
import { jsonOf, problemOf, useDoor } from '../support.ts';

const door = useDoor();

const ONE = { source: 'golden', command: 'cat' };
const deploy = (name: string, more: object = {}) => door.call('PUT', `/v1/functions/${name}`, { ...ONE, ...more });
const filesOf = (text: string) => ({
  tar: Buffer.from(
    buildTar([{ path: 'main', type: 'file', mode: 0o755, bytes: new TextEncoder().encode(text), link: null }]),
  ).toString('base64'),
});

describe('a deployment', () => {
  it('creates a version for new content, and returns the existing version for known content', async () => {
    const versions = [{}, { env: { A: '1' } }, {}, { files: filesOf('one') }, { files: filesOf('two') }];
    const answers: [number, number][] = [];
    for (const more of versions) {
      const response = await deploy('versions', more);
      answers.push([response.status, (await jsonOf<{ version: number }>(response)).version]);
    }
    expect(answers).toEqual([
      [201, 1],
      [201, 2],
      [200, 1],
      [201, 3],
      [201, 4],
    ]);
    const all = await jsonOf<{ items: object[] }>(door.call('GET', '/v1/functions/versions/versions'));
    expect(all.items).toMatchObject([
      { version: 4, isActive: true },
      { version: 3, spec: { filesDigest: expect.stringMatching(/^[0-9a-f]{64}$/) } },
      { version: 2, spec: { envNames: ['A'] } },
      { version: 1, isActive: false },
    ]);
    expect(JSON.stringify(all)).not.toContain('"1"'); // values of variables are not shown
    const back = await door.call('POST', '/v1/functions/versions/versions/2/activate');
    expect([back.status, await jsonOf(back)]).toMatchObject([200, { version: 2, isActive: true }]);
    expect((await door.call('POST', '/v1/functions/versions/versions/9/activate')).status).toBe(404);
  });

  it('by many at once creates each content once', async () => {
    const answers = await Promise.all(
      [0, 1, 2, 0, 1, 2, 0, 1, 2].map(async (n) =>
        jsonOf<{ version: number; digest: string }>(deploy('at-once', { env: { N: String(n) } })),
      ),
    );
    expect(new Set(answers.map(({ version }) => version))).toEqual(new Set([1, 2, 3]));
    expect(new Set(answers.map(({ digest }) => digest)).size).toBe(3);
  });

  it.each<[what: string, more: object, field: string | undefined, code?: string]>([
    ['both a command and argv', { argv: ['true'] }, 'command'],
    ['a snapshot and a source', { snapshotId: 'snp-0123456789abcdef' }, 'source'],
    ['a field that is none', { sauce: 'golden' }, 'sauce'],
    ['three rules', { concurrency: [{ limit: 1 }, { limit: 2 }, { limit: 3 }] }, 'concurrency'],
    ['a key that is no pointer', { concurrency: [{ limit: 1, key: 'id' }] }, 'concurrency.0.key'],
    ['a variable of ours', { env: { MAYFLY_EVENT: 'x' } }, 'env.MAYFLY_EVENT'],
    ['retries', { retry: { maxAttempts: 2 } }, 'retry.maxAttempts', 'retry_needs_idempotent'],
    ['files that are no archive', { files: { tar: 'bm90IGEgdGFy' } }, 'files.tar'],
    ['a source that nobody has', { source: 'other' }, undefined, 'source_not_found'],
    ['a schema that is none', { input: { schema: { type: 'thing' } } }, '/type', 'invalid_schema'],
    [
      'two rules that cancel',
      { concurrency: [1, 2].map((limit) => ({ limit, onFull: 'cancel-running' })) },
      'concurrency',
    ],
    [
      'a priority where the newest goes on',
      { priority: 1, concurrency: [{ limit: 1, onFull: 'cancel-running' }] },
      'priority',
    ],
    ['a throttle of no time', { throttle: { limit: 1 } }, 'throttle.periodSeconds'],
    [
      'a throttle that cancels',
      { throttle: { limit: 1, periodSeconds: 1, onFull: 'cancel-running' } },
      'throttle.onFull',
    ],
    ['an event of no bytes', { input: { maxBytes: 0 } }, 'input.maxBytes'],
  ])('with %s is refused by its name', async (_what, more, field, code = 'invalid_request') => {
    const problem = await problemOf(deploy('refused', more));
    expect([problem.code, problem.errors?.[0]?.field]).toEqual([code, field]);
    expect((await door.call('GET', '/v1/functions/refused')).status).toBe(404);
  });

  it('with an invalid name is refused', async () => {
    for (const name of ['Upper', '1st', 'a_b', 'x'.repeat(64)])
      expect((await problemOf(deploy(name))).code).toBe('invalid_id');
  });

  it('obeys a policy, as a command does', async () => {
    await door.call('POST', '/v1/projects', { id: 'careful', sources: null });
    const [admin, own] = [await door.key.in('careful', 'admin'), await door.key.in('careful', 'sandboxes:write')];
    const rules = [{ name: 'no-rm', when: { command: 'rm *' }, effect: 'deny' }];
    const put = await door.call('PUT', '/v1/policies', { rules }, {}, admin);
    expect(put.status).toBeLessThan(300);
    const denied = await door.call('PUT', '/v1/functions/wipe', { ...ONE, command: 'rm -rf /' }, {}, own);
    expect([denied.status, (await problemOf(denied)).code]).toEqual([403, 'policy_denied']);
  });
});

it('pause, resume and delete are idempotent', async () => {
  await deploy('paused');
  const say = async (act: string) => jsonOf<{ state: string }>(door.call('POST', `/v1/functions/paused/${act}`));
  expect([await say('pause'), await say('pause'), await say('resume')].map(({ state }) => state)).toEqual([
    'paused',
    'paused',
    'active',
  ]);
  expect(door.sagas.woken).toContain('default/paused');
  expect((await door.call('DELETE', '/v1/functions/paused')).status).toBe(204);
  expect((await door.call('DELETE', '/v1/functions/paused')).status).toBe(404);
  expect((await jsonOf<{ version: number }>(deploy('paused'))).version).toBe(1);
});
