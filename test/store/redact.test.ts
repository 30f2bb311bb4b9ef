import { describe, expect, it } from 'vitest';
import { REDACTED, redact } from '../../store/audit/redact.ts';
import { ownProcessorMs } from '../support/processor-time.ts';

describe('redaction', () => {
  it.each([
    ['curl -u elastic:changeme http://x', 'changeme'],
    ['curl --user="elastic:changeme" http://x', 'changeme'],
    ['git clone https://me:changeme@host/x', 'changeme'],
    ['-H "Authorization: Bearer abc.def-123456789"', 'abc.def'],
    ['Authorization: Basic dXNlcjpjaGFuZ2VtZQ==', 'dXNlcjpjaGFuZ2VtZQ'],
    ['PGPASSWORD=changeme psql', 'changeme'],
    ['{"token":"changeme"}', 'changeme'],
    ['-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----', 'AAAA'],
    ['-----BEGIN RSA PRIVATE KEY-----\nAAAA cut off', 'AAAA'],
    [`mfk_0123456789ab_${'x'.repeat(43)}`, 'xxxx'],
  ])('hides the secret in %s', (text, secret) => {
    const kept = JSON.stringify(redact({ nested: [{ command: text }] }));
    expect(kept).not.toContain(secret);
    expect(kept).toContain(REDACTED);
  });

  it('hides fields by their names, whatever they hold', () => {
    expect(redact({ password: 1, Authorization: ['x'], apiKey: 'x', secret: null })).toEqual({
      password: REDACTED,
      Authorization: REDACTED,
      apiKey: REDACTED,
      secret: null,
    });
  });

  it.each(['x', '-u ', 'token ', 'a://', '-----BEGIN ', 'Bearer ', ' ', 'a:'])(
    'is quick for a megabyte of %j',
    (part) => {
      const began = ownProcessorMs();
      redact(part.repeat(1_048_576 / part.length));
      expect(ownProcessorMs() - began).toBeLessThan(2_000);
    },
  );

  it('leaves the rest as it is', () => {
    const plain = {
      apiKeyId: '0123456789ab',
      command: 'ls -u /tmp',
      n: 1,
      bytes: Buffer.from('a'),
      list: [true, null],
    };
    expect(redact(plain)).toEqual(plain);
  });
});
