import { beforeEach, describe, expect, it } from 'vitest';
import type { Template } from '../../../clients/typescript/http/openapi.ts';
import { host, jsonOf, problemOf, useDoor } from '../../api/support.ts';

const door = useDoor();

beforeEach(async () => {
  Object.assign(door.sagas, { outcome: 'running', failing: null, started: [] });
  await door.store.hosts.describe(host('kvm-1'));
});

const SOURCE = host('kvm-1').sources[0]?.name ?? '';
const make = (body: object = { source: SOURCE }, headers: Record<string, string> = {}, key?: string) =>
  door.call('POST', '/v1/templates', body, headers, key);
const refused = async (response: Promise<Response>) => (await problemOf(await response)).code;

describe('a template', () => {
  it('is started with 202, then read, listed and deleted, and hides internals of its host', async () => {
    const response = await make({ source: SOURCE, cpus: 2, memoryMib: 256 });
    const template = await jsonOf<Template>(response);
    expect([response.status, response.headers.get('Location')]).toEqual([202, `/v1/templates/${template.id}`]);
    expect(template).toMatchObject({ state: 'building', source: SOURCE, cpus: 2, memoryMib: 256, hostId: 'kvm-1' });
    expect(Object.keys(template)).not.toContain('key');
    expect(await jsonOf(door.call('GET', `/v1/templates/${template.id}`))).toEqual(template);
    const list = () => jsonOf<{ items: Template[] }>(door.call('GET', '/v1/templates'));
    expect((await list()).items.map(({ id }) => id)).toContain(template.id);
    const gone = await door.call('DELETE', `/v1/templates/${template.id}`);
    expect([gone.status, await gone.json()]).toEqual([200, expect.objectContaining({ state: 'gone' })]);
    expect((await list()).items.map(({ id }) => id)).not.toContain(template.id);
    expect((await door.call('DELETE', `/v1/templates/${template.id}`)).status).toBe(200);
  });

  it('is started once for one key', async () => {
    const headers = { 'Idempotency-Key': 'once' };
    const first = await jsonOf(make(undefined, headers));
    const again = await make(undefined, headers);
    expect([await again.json(), again.headers.get('Idempotent-Replayed')]).toEqual([first, 'true']);
    expect(door.sagas.started).toHaveLength(1);
    expect((await make({ source: SOURCE, cpus: 2 }, headers)).status).toBe(422);
  });

  it('is refused for bad input, an unknown source or host, an unsupported host, and without the scope', async () => {
    expect(await refused(make({}))).toBe('invalid_request');
    expect(await refused(make({ source: SOURCE, more: 1 }))).toBe('invalid_request');
    expect(await refused(make({ source: SOURCE, cpus: 0 }))).toBe('invalid_request');
    expect(await refused(make({ source: SOURCE, hostId: '../x' }))).toBe('invalid_request');
    expect(await refused(make({ source: 'absent' }))).toBe('source_not_found');
    expect(await refused(make({ source: SOURCE, hostId: 'kvm-9' }))).toBe('no_host');
    door.sagas.outcome = 'failed';
    expect(await refused(make())).toBe('template_unsupported');
    const writer = await door.key('sandboxes:write', 'sandboxes:read');
    expect((await make(undefined, {}, writer)).status).toBe(403);
    expect((await door.call('GET', '/v1/templates', undefined, {}, writer)).status).toBe(200);
    for (const id of ['snp-0123456789abcde!', 'cap-0123456789abcdef', '..%2f..']) {
      expect(await refused(door.call('GET', `/v1/templates/${id}`))).toBe('invalid_id');
    }
    expect(await refused(door.call('GET', '/v1/templates/snp-0123456789abcdef'))).toBe('template_not_found');
    expect(await refused(door.call('DELETE', '/v1/templates/snp-0123456789abcdef'))).toBe('template_not_found');
  });

  it('is requested with a sandbox, and the result is in the answer', async () => {
    const asked = await jsonOf<{ spec: object; boot: unknown }>(
      door.call('POST', '/v1/sandboxes', { source: SOURCE, boot: 'cold' }),
    );
    expect(asked).toMatchObject({ spec: { boot: 'cold' }, boot: null });
    expect(await refused(door.call('POST', '/v1/sandboxes', { source: SOURCE, boot: 'warm' }))).toBe('invalid_request');
  });
});
