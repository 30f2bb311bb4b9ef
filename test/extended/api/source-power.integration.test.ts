import { beforeEach, expect, it } from 'vitest';
import { MayflyError } from '../../../model/errors.ts';
import { host, jsonOf, problemOf, useDoor } from '../../api/support.ts';

const door = useDoor();
beforeEach(() => {
  Object.assign(door.sagas, { outcome: 'running', refusal: null, started: [] });
});

const ask = (task: string, body: object = {}, headers: Record<string, string> = {}, name = 'golden') =>
  door.call('POST', `/v1/sources/${name}/${task}`, body, headers);

it('starts and stops a source, and repeats its answers', async () => {
  const running = { name: 'golden', hostId: 'kvm-1', state: 'running', guestAnswers: true };
  for (let twice = 0; twice < 2; twice++) {
    const response = await ask('start', { hostId: 'kvm-1' });
    expect([response.status, response.headers.get('Location')]).toEqual([200, '/v1/sources/golden']);
    expect(await response.json()).toEqual(running);
  }
  const headers = { 'Idempotency-Key': 'once' };
  const stopped = { ...running, state: 'shut_off', guestAnswers: null };
  expect(await jsonOf(ask('stop', { force: true }, headers))).toEqual(stopped);
  const again = await ask('stop', { force: true }, headers);
  expect([await again.json(), again.headers.get('Idempotent-Replayed')]).toEqual([stopped, 'true']);
  expect((await ask('stop', {}, headers)).status).toBe(422);
  expect(door.sagas.started).toEqual([...Array(2).fill('start golden on kvm-1'), 'stop golden on kvm-1, forced']);
});

it('answers 202 when the wait ends first, and the reason when it failed', async () => {
  door.sagas.outcome = 'never';
  for (const [task, state] of [
    ['start', 'starting'],
    ['stop', 'stopping'],
  ] as const) {
    const response = await ask(task, {}, { Prefer: 'wait=0' });
    expect([response.status, await response.json()]).toEqual([202, expect.objectContaining({ state })]);
  }
  door.sagas.outcome = 'failed';
  expect(await problemOf(ask('start'))).toMatchObject({ status: 409, code: 'source_in_use' });
  expect(await problemOf(ask('stop'))).toMatchObject({ status: 502, code: 'source_stop_failed' });
});

it('is refused for bad input, an unknown source, several hosts, a busy one and a key without the scope', async () => {
  const refused = async (response: Promise<Response>) => (await problemOf(response)).code;
  expect(await refused(ask('start', { force: true }))).toBe('invalid_request');
  expect(await refused(ask('stop', { force: 'yes' }))).toBe('invalid_request');
  expect(await refused(ask('start', {}, {}, '-x'))).toBe('invalid_id');
  expect(await refused(ask('start', {}, {}, 'absent'))).toBe('source_not_found');
  await door.store.hosts.describe(host('kvm-2'));
  expect(await refused(ask('stop'))).toBe('invalid_request');
  const writer = await door.key('sandboxes:write', 'sandboxes:read', 'sources:look');
  for (const task of ['start', 'stop']) {
    expect((await door.call('POST', `/v1/sources/golden/${task}`, {}, {}, writer)).status).toBe(403);
  }
  expect(door.sagas.started).toEqual([]);
  // a refusal releases its key
  const headers = { 'Idempotency-Key': 'refused' };
  door.sagas.refusal = new MayflyError('source_busy', 'busy', { retryAfterSeconds: 5 });
  const busy = await ask('stop', { hostId: 'kvm-2' }, headers);
  expect([busy.status, busy.headers.get('Retry-After')]).toEqual([409, '5']);
  door.sagas.refusal = null;
  expect((await ask('stop', { hostId: 'kvm-2' }, headers)).status).toBe(200);
});
