import { expect, it } from 'vitest';
import type { RunRecord } from '../../../../model/functions/run.ts';
import { WaitpointAudit } from '../../../../worker/upkeep/functions/completed-waitpoints.ts';
import { githubHeaders } from '../../../api/hooks/use-hooks.ts';
import { jsonOf, problemOf, useDoor } from '../../../api/support.ts';
import { runId, runRecord } from '../../../store/run-records.ts';
import { eventually } from '../../../support/eventually.ts';

/** Promise: remains of functions are reported by name: unstarted runs, batches, keys, projects, waitpoints. Seconds. */
const door = useDoor();

let count = 0;
async function deployed(more: object = {}, key?: string): Promise<string> {
  const name = `left-${++count}`;
  const answer = await door.call(
    'PUT',
    `/v1/functions/${name}`,
    { source: 'golden', command: 'cat', ...more },
    {},
    key,
  );
  expect(answer.status).toBe(201);
  return name;
}

it.each([
  ['superseded', runId(7)],
  ['singleton', null],
  ['rate', null],
] as const)('an unstarted run is reported to its invoker with the reason: %s', async (skippedFor, supersededBy) => {
  const name = await deployed({ debounce: { periodSeconds: 60, maxWaitSeconds: 60 } });
  const answer = door.call('POST', `/v1/functions/${name}/invoke`, {}, { Prefer: 'wait=60' });
  const [run] = await eventually(
    async () => (await door.store.runs.list({ project: 'default', function: name, limit: 1 })).items,
    (items) => items.length > 0,
  );
  const at = new Date().toISOString();
  const ended = { outcome: 'skipped', skippedFor, supersededBy, endedAt: at, updatedAt: at } as const;
  expect(await door.store.runs.end(run?.id ?? '', ['delayed'], ended, 7)).toBe(true);
  const problem = await problemOf(answer);
  expect(problem).toMatchObject({ status: 409, code: 'run_skipped' });
  expect(problem.detail).toContain(`skipped: ${supersededBy === null ? skippedFor : `superseded by ${supersededBy}`}.`);
  expect((await answer).headers.get('Mayfly-Run-Id')).toBe(run?.id);
});

it.each(['replay', 'redrive'])('a batch refuses a %s, and names its events', async (act) => {
  const name = await deployed({ batch: { maxSize: 2, maxWaitSeconds: 60 } });
  const n = 100 + ++count;
  const event = { id: 'e', source: '/s', type: 't', time: null };
  const events = [1, 2].map((each) => ({ ...event, runId: runId(n * 10 + each), bytes: 2 }));
  const batch: Partial<RunRecord> = { function: name, isBatch: true, events, state: 'ended', outcome: 'failed' };
  expect(await door.store.runs.accept(runRecord(n, batch), null)).toBe(true);
  const answer = await door.call('POST', `/v1/runs/${runId(n)}/${act}`, act === 'replay' ? {} : undefined);
  expect(await problemOf(answer)).toMatchObject({ status: 409, code: 'run_is_batch' });
});

it('a hook belongs to its project: it accepts events after its key is revoked', async () => {
  const secret = await door.key('sandboxes:write');
  const name = await deployed({}, secret);
  const wish = { function: name, scheme: 'github', secrets: ['mysecret'] };
  const made = await door.call('POST', '/v1/hooks', wish, {}, secret);
  const { path, createdBy } = await jsonOf<{ path: string; createdBy: { apiKeyId: string } }>(made);
  expect((await door.call('DELETE', `/v1/keys/${createdBy.apiKeyId}`)).status).toBe(200);
  expect((await door.call('GET', `/v1/functions/${name}`, undefined, {}, secret)).status).toBe(401);
  const headers = githubHeaders('{}') as [string, string][];
  expect((await door.app.request(path, { method: 'POST', headers, body: '{}' })).status).toBe(202);
});

it('a project in use is not deleted and names a resource; a deleted one leaves no residue', async () => {
  const project = 'leaving';
  expect((await door.call('POST', '/v1/projects', { id: project, sources: ['golden'] })).status).toBe(201);
  const key = await door.key.in(project, 'admin');
  const own = (method: string, path: string, body?: object) => door.call(method, path, body, {}, key);
  const wish = { source: 'golden', command: 'true' };
  expect((await own('PUT', '/v1/functions/f', wish)).status).toBe(201);
  const hook = { function: 'f', scheme: 'github', secrets: ['mysecret'] };
  const { id: hookId } = await jsonOf<{ id: string }>(own('POST', '/v1/hooks', hook));
  expect((await own('PUT', '/v1/schedules/s', { function: 'f', every: '1h' })).status).toBe(201);
  const endpoint = { url: 'https://example.com/', types: ['run.ended'] };
  const { id: endpointId } = await jsonOf<{ id: string }>(own('POST', '/v1/webhook-endpoints', endpoint));
  expect((await own('PUT', '/v1/secrets/k', { value: 'something long' })).status).toBe(201);
  const refused = async (what: string) => {
    const problem = await problemOf(door.call('DELETE', `/v1/projects/${project}`));
    expect(problem).toMatchObject({ status: 409, code: 'project_in_use' });
    expect(problem.detail).toContain(`${what} is left of it`);
    expect((await own('GET', '/v1/functions')).status).toBe(200); // its keys still work
  };
  await refused('the schedule s');
  expect((await own('DELETE', '/v1/schedules/s')).status).toBeLessThan(300);
  await refused('the function f');
  expect((await own('DELETE', '/v1/functions/f')).status).toBeLessThan(300);
  await refused(endpointId);
  expect((await own('DELETE', `/v1/webhook-endpoints/${endpointId}`)).status).toBe(204);
  await refused('the secret k');
  expect((await own('DELETE', '/v1/secrets/k')).status).toBe(204);
  expect((await door.call('DELETE', `/v1/projects/${project}`)).status).toBe(200);
  const { functions, schedules, webhookEndpoints, secrets, hooks } = door.store;
  for (const left of [functions, schedules, webhookEndpoints, secrets]) expect(await left.list(project)).toEqual([]);
  expect(await hooks.get(hookId)).toBeNull();
});

it('the audit of a run has the completion of a waitpoint once, with token and time, and without the data', async () => {
  const name = await deployed();
  const { id } = await jsonOf<{ id: string }>(door.call('POST', `/v1/functions/${name}/runs`, {}));
  const token = async () =>
    jsonOf<{ path: string; id: string }>(door.call('POST', `/v1/runs/${id}/waitpoints`, { name: 'leave' }));
  await token();
  const second = await token();
  const body = JSON.stringify({ data: { planted: 'confidential-words' } });
  const headers = { 'Content-Type': 'application/json' };
  const complete = () => door.app.request(second.path, { method: 'POST', headers, body });
  expect((await complete()).status).toBe(200);
  const upkeep = new WaitpointAudit(door.store);
  for (let n = 0; n < 2; n++) {
    await upkeep.look();
    expect((await complete()).status).toBe(200); // a repetition has no effect
  }
  const { items } = await jsonOf<{ items: { body: string }[] }>(door.call('GET', `/v1/runs/${id}/audit`));
  const said = items.map(
    (item) => JSON.parse(item.body) as { kind: string; at: string; actor: object; detail: object },
  );
  expect(said.filter(({ kind }) => kind === 'run.waitpoint-completed')).toMatchObject([
    { actor: { project: 'default' }, detail: { waitpoint: 'leave', by: 'token 2' } },
  ]);
  const [kept] = await door.store.waitpoints.list(id);
  expect(said[0]?.at).toBe(kept?.completedAt);
  expect(JSON.stringify(items)).not.toContain('confidential');
});
