import { describe, expect, it } from 'vitest';
import { redact, redactArgv, redactText } from '../../../model/redaction/redact.ts';
import { REDACTED } from '../../../model/redaction/span.ts';
import { CHANGES, SECRETS } from '../../support/playbook-changes.ts';
import { ownProcessorMs } from '../../support/processor-time.ts';

/** Secrets in two parts each, so that secret scanners ignore this file. */
const GITHUB = ['ghp_', 'R4nd0mR4nd0mR4nd0mR4nd0mR4nd0mR4nd0m'].join('');
const AWS = ['AKIA', 'Q3EGRZ7WUVTXYN2B'].join('');

describe('redaction', () => {
  it.each([
    ['curl -u elastic:changeme http://x', 'changeme'],
    ['curl --user="elastic:change me" http://x', 'change me'],
    ['curl -uelastic:changeme http://x', 'changeme'],
    ['git clone https://me:changeme@host/x', 'changeme'],
    ['postgres://me:change@me@host/x', 'change@me'],
    ['git clone https://changemechangeme0@host/x', 'changemechangeme0'],
    ['-H "Authorization: Bearer abc.def-123456789"', 'abc.def'],
    ['Authorization: Basic dXNlcjpjaGFuZ2VtZQ==', 'dXNlcjpjaGFuZ2VtZQ'],
    ['authorization: Digest username="x", response="changeme"', 'username'],
    ['Cookie: a=b; session=changeme', 'changeme'],
    ['X-Api-Key: changeme', 'changeme'],
    ['PGPASSWORD=changeme psql', 'changeme'],
    ['export DB_PASS="change me" MYSQL_PWD=x', 'change me'],
    ['AWS_SECRET_ACCESS_KEY=changeme aws s3 ls', 'changeme'],
    ['STRIPE_KEY=changeme', 'changeme'],
    ['PASSWORD="change m"e', 'm"e'],
    ["PASSWORD='change me", 'change me'],
    ['tool --password hunter2', 'hunter2'],
    ['tool --password=hunter2 --verbose', 'hunter2'],
    ["tool --api-key 'hunter 2'", 'hunter 2'],
    ['tool -password hunter2', 'hunter2'],
    ['mysql -uroot -pHunter2 db', 'Hunter2'],
    ['docker login -u me -p hunter2 registry', 'hunter2'],
    ['sshpass -p hunter2 ssh x', 'hunter2'],
    ['redis-cli -h x -a hunter2 ping', 'hunter2'],
    ['unzip -P hunter2 a.zip', 'hunter2'],
    ['openssl rsa -passin pass:hunter2', 'hunter2'],
    ["useradd -m ann; echo 'ann:hunter2' | chpasswd", 'hunter2'],
    ['echo ann:hunter2|sudo chpasswd -c SHA512', 'hunter2'],
    ['echo "ann:hunter 2" | chpasswd', 'hunter 2'],
    ["printf 'a:changeme\\nann:hunter2\\n' | chpasswd", 'hunter2'],
    ['echo "$user:hunter2" | /usr/sbin/chpasswd', 'hunter2'],
    ['chpasswd <<EOF\na:changeme\nann:hunter 2\nEOF', 'hunter 2'],
    ["chpasswd <<< 'ann:hun;t&er|2'", 'hun;t&er|2'],
    ["usermod -p 'hunter2' ann", 'hunter2'],
    ['{"token":"changeme"}', 'changeme'],
    ['{\\"dbPassword\\": \\"change me\\"}', 'change me'],
    ['https://h/x?access_token=changeme&y=1', 'changeme'],
    ['/tmp/token%3Dchangeme', 'changeme'],
    ['https://h/x?sv=1&sig=changeme', 'changeme'],
    ['https://example.com/hooks/T0001/B0002/changemechangeme', 'changeme'],
    ['-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----', 'AAAA'],
    ['-----BEGIN RSA PRIVATE KEY-----\nAAAA cut off', 'AAAA'],
    ['-----BEGIN PGP PRIVATE KEY BLOCK-----\nAAAA', 'AAAA'],
    [`mfk_0123456789ab_${'x'.repeat(43)}`, 'xxxx'],
    [`echo ${GITHUB}`, GITHUB],
    [`x,${GITHUB},y`, GITHUB],
    [`aws configure set a ${AWS}`, AWS],
    [['xoxb', '123456789012', '123456789012', 'abcdefghijklmnopqrstuvwx'].join('-'), 'abcdefghij'],
    [['ey', 'JhbGciOiJIUzI1NiJ9.ey', 'JzdWIiOiIxMjM0NTY3ODkwIn0.', 'c2lnbmF0dXJlLXRleHQ'].join(''), 'c2lnbmF0'],
    [`?key=${['AIza', 'SyD-abcdefghijklmnopqrstuvwxyz01234'].join('')}&x=1`, 'abcdefghij'],
  ])('hides the secret in %s', (text, secret) => {
    const kept = JSON.stringify(redact({ nested: [{ command: text }] }));
    expect(kept).not.toContain(JSON.stringify(secret).slice(1, -1));
    expect(kept).toContain(REDACTED);
    expect(redactText(redactText(text)), 'again, it changes nothing').toBe(redactText(text));
  });

  it.each([
    [
      ['tool', '--password', 'hunter2', 'x'],
      ['tool', '--password', REDACTED, 'x'],
    ],
    [
      ['tool', '--password=hunter 2'],
      ['tool', `--password=${REDACTED}`],
    ],
    [
      ['/usr/bin/mysql', '-pHunter2', 'db'],
      ['/usr/bin/mysql', `-p${REDACTED}`, 'db'],
    ],
    [
      ['mysql', '-p', 'db'],
      ['mysql', '-p', 'db'],
    ],
    [
      ['curl', '-u', 'me:hunter 2', 'x'],
      ['curl', '-u', `me:${REDACTED}`, 'x'],
    ],
    [
      ['sshpass', '-p', 'hunter2', 'ssh', '-p', '22', 'x'],
      ['sshpass', '-p', REDACTED, 'ssh', '-p', '22', 'x'],
    ],
    [
      ['env', 'TOKEN=a b', 'x'],
      ['env', `TOKEN=${REDACTED}`, 'x'],
    ],
    [
      ['sh', '-c', 'mysql -pHunter2 db'],
      ['sh', '-c', `mysql -p${REDACTED} db`],
    ],
    [
      ['tool', '--token', '--verbose'],
      ['tool', '--token', '--verbose'],
    ],
  ])('hides the secret argument of %j', (argv, shown) => {
    expect(redactArgv(argv)).toEqual(shown);
    expect(redact({ argv })).toEqual({ argv: shown });
  });

  it('hides fields by their names, for any value', () => {
    expect(redact({ password: 1, Authorization: ['x'], apiKey: 'x', secret: null, hasToken: true })).toEqual({
      password: REDACTED,
      Authorization: REDACTED,
      apiKey: REDACTED,
      secret: null,
      hasToken: true,
    });
    expect(redact([{ name: 'DB_PASSWORD', value: 'x' }])).toEqual([{ name: 'DB_PASSWORD', value: REDACTED }]);
  });

  it.each(Object.entries(CHANGES))("hides the secrets of a command in a playbook's change: %s", (_kind, command) => {
    for (const secret of SECRETS) expect(redactText(command)).not.toMatch(secret);
  });

  it('does not mistake bytes of a binary file for the password of a flag', () => {
    const bytes = ' -u,\x81\x14h:\x14\x11\x1a\xe9';
    expect(redactText(bytes)).toBe(bytes);
  });

  it('keeps the useful parts of an audit trail', () => {
    const plain = {
      apiKeyId: '0123456789ab',
      sandboxId: 'sbx-0123456789abcdef',
      commandId: 'cmd-0123456789abcdefghjk',
      runId: '019a2b3c-4d5e-7f60-8192-a3b4c5d6e7f8',
      sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      digest: 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      fingerprint: 'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU',
      publicKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl host',
      identity: 'agent=a key=0123456789ab source=golden-debian12 sandbox=sbx-0123456789abcdef certificate=42',
      host: 'kvm-01.example.com',
      hostIdOf: 'host-7c9e6679-7425-40de-944b-e07fc1f90ae7',
      path: '/home/agent/work/secret.txt',
      at: '2026-11-23T09:30:00.000Z',
      mac: '52:54:00:ab:cd:ef',
      address: '10.213.0.12',
      commands: ['ls -u /tmp', 'git log --author me -p 5', 'ssh -p 22 host', 'PWD=/home/x pwd', 'grep -r token .'],
      run: 'docker run -p 8080:80 -p 127.0.0.1:1:1 nginx',
      npm: 'npm config get token-budget max_tokens=200 key=abc',
      commit: 'git show 3b18e512dba79e4c8300dd08aeb37f8e728b8dad',
      n: 1,
      bytes: Buffer.from('a'),
      list: [true, null],
    };
    expect(redact(plain)).toEqual(plain);
  });

  const words = [
    'x',
    '-u ',
    'token ',
    'a://',
    '-----BEGIN ',
    'Bearer ',
    ' ',
    'a:',
    'token=',
    '--token ',
    'mysql -p',
    'x.',
    'chpasswd ',
    'chpasswd a:',
  ];
  const quotes = [
    'password="',
    'password=\\"',
    "'",
    '\\',
    'key-',
    "chpasswd 'a:",
    'https://a/hooks/',
    'https://',
    'eyJhbGciOiJIUzI1NiJ9.',
  ];
  it('is fast for text that resembles the end of a value', () => {
    const began = ownProcessorMs();
    redact(`password=${',)'.repeat(65_000)}a`);
    expect(ownProcessorMs() - began).toBeLessThan(2_000);
  });

  it.each([...words, ...quotes])('is fast for a megabyte of %j', (part) => {
    const began = ownProcessorMs();
    redact(part.repeat(1_048_576 / part.length));
    expect(ownProcessorMs() - began).toBeLessThan(2_000);
  });
});
