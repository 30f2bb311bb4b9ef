import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parsePublicKey } from '../../ca/public-key.ts';
import { exec } from '../../host/exec.ts';

const KINDS: [string, string[]][] = [
  ['ed25519', []],
  ['ecdsa', ['-b', '256']],
  ['ecdsa', ['-b', '384']],
  ['ecdsa', ['-b', '521']],
  ['rsa', ['-b', '2048']],
];

describe('one OpenSSH public key line', () => {
  let directory: string;
  let made = 0;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mayfly-key-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  async function keygen(type: string, rest: string[]): Promise<{ path: string; line: string }> {
    const path = join(directory, `key-${made++}`);
    await exec('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', 'a comment', '-f', path, ...rest]);
    return { path, line: await readFile(`${path}.pub`, 'utf8') };
  }

  test.each(KINDS)('%s %s: accepted, with the fingerprint of ssh-keygen -lf (caa-021)', async (type, rest) => {
    const { path, line } = await keygen(type, rest);
    const { stdout } = await exec('ssh-keygen', ['-l', '-f', `${path}.pub`]);
    const key = parsePublicKey(line);
    expect(key.fingerprint).toBe(stdout.split(' ')[1]);
    expect(key.line).toBe(line.split(' ').slice(0, 2).join(' '));
  });

  test('RSA of 1024 bits is too weak (caa-010)', async () => {
    const { line } = await keygen('rsa', ['-b', '1024']);
    expect(() => parsePublicKey(line)).toThrow('at least 2048 bits');
  });

  test('the declared type must be the one inside (caa-009)', async () => {
    const { line } = await keygen('ed25519', []);
    expect(() => parsePublicKey(line.replace('ssh-ed25519', 'ssh-rsa'))).toThrow('differs');
  });

  test('one line, no options, nothing but the key (caa-008)', async () => {
    const { line } = await keygen('ed25519', []);
    const [type = '', blob = ''] = line.split(' ');
    const bytes = Buffer.from(blob, 'base64');
    const bad = [
      '',
      'ssh-ed25519 AAAA\nssh-rsa AAAA',
      `${line}${line}`,
      `command="/bin/sh" ${line}`,
      ` ${line}`,
      `${type}\t${blob}`,
      `${type} ${blob} com\rment`,
      `${type} ${bytes.subarray(0, -1).toString('base64')}`,
      `${type} ${Buffer.concat([bytes, Buffer.from([0])]).toString('base64')}`,
      `${type} ${Buffer.concat([bytes, Buffer.alloc(4)]).toString('base64')}`,
      `${type} ${'A'.repeat(100_000)}`,
    ];
    for (const text of bad) expect(() => parsePublicKey(text), text.slice(0, 80)).toThrow('not acceptable');
  });

  test('a certificate is not a key to be certified', async () => {
    const { path } = await keygen('ed25519', []);
    await exec('ssh-keygen', ['-q', '-s', path, '-I', 'x', '-n', 'x', `${path}.pub`]);
    const certificate = await readFile(`${path}-cert.pub`, 'utf8');
    expect(() => parsePublicKey(certificate)).toThrow('its type is none of');
  });
});
