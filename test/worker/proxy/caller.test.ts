import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Caller, parseCaller, TaskTokens } from '../../../worker/proxy/caller.ts';

test.each([
  ['api', { process: 'api' }],
  ['host-kvm-1', { process: 'host', hostId: 'kvm-1' }],
  ['host-', null],
  ['host-a/b', null],
  ['host-A', null],
  ['control', null],
  ['proxy-server', null],
  ['', null],
  [['api', 'host-a'], null],
  [undefined, null],
])('a certificate for %j belongs to %j', (name, caller) => expect(parseCaller(name)).toEqual(caller));

test('the token of a task is valid only for its recipient', () => {
  const tokens = new TaskTokens(randomBytes(32));
  const [one, other]: Caller[] = ['a', 'b'].map((hostId) => ({ process: 'host', hostId }));
  if (!one || !other) throw new Error('there are two');
  const token = randomBytes(80);
  const sealed = tokens.sealed(token, one);
  expect(tokens.opened(sealed, one)).toEqual(token);
  expect(tokens.opened(sealed, other)).toBeNull();
  expect(tokens.opened(sealed, { process: 'api' })).toBeNull();
  expect(tokens.opened(token, one)).toBeNull();
  expect(tokens.opened(Buffer.alloc(3), one)).toBeNull();
  expect(new TaskTokens(randomBytes(32)).opened(sealed, one)).toBeNull();
  for (const at of [0, 79, 80, 111]) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    expect(tokens.opened(changed, one)).toBeNull();
  }
});
