import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parsePublicKey } from '../../ca/public-key.ts';
import { exec } from '../../host/os/exec.ts';
import { sshString } from '../../host/ssh/wire.ts';
import { useFolder } from '../support/use-folder.ts';

const KINDS: [string, string[]][] = [
  ['ed25519', []],
  ['ecdsa', ['-b', '256']],
  ['ecdsa', ['-b', '384']],
  ['ecdsa', ['-b', '521']],
  ['rsa', ['-b', '2048']],
];

function lineOf(type: string, ...parts: Buffer[]): string {
  return `${type} ${Buffer.concat([Buffer.from(type), ...parts].map(sshString)).toString('base64')}`;
}

describe('one OpenSSH public key line', () => {
  const directory = useFolder();
  let made = 0;

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

  test.each([
    ['rsa', ['-b', '1024'], 'at least 2048 bits'],
    ['dsa', [], 'its type is none of'],
  ])('%s %s is too weak (caa-010)', async (type, rest, why) => {
    const { line } = await keygen(type, rest);
    expect(() => parsePublicKey(line)).toThrow(why);
  });

  test('keys that OpenSSH cannot read are refused: RSA beyond 16384 bits, and a point that is not on the curve', async () => {
    const modulus = (bytes: number) => Buffer.concat([Buffer.from([0x7f]), Buffer.alloc(bytes - 1, 1)]);
    const rsa = (bytes: number) => lineOf('ssh-rsa', Buffer.from([1, 0, 1]), modulus(bytes));
    expect(parsePublicKey(rsa(2_048)).type).toBe('ssh-rsa');
    expect(() => parsePublicKey(rsa(2_049))).toThrow('16384 bits');
    const point = Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1)]);
    expect(() => parsePublicKey(lineOf('ecdsa-sha2-nistp256', Buffer.from('nistp256'), point))).toThrow(
      'not one of that',
    );
  });

  test('the declared type must match the encoded one (caa-009)', async () => {
    const { line } = await keygen('ed25519', []);
    expect(() => parsePublicKey(line.replace('ssh-ed25519', 'ssh-rsa'))).toThrow('differs');
  });

  test('a key is one line without options or anything else (caa-008)', async () => {
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
      `${line.trim()} ${'x'.repeat(10_000)}`,
    ];
    for (const text of bad) expect(() => parsePublicKey(text), text.slice(0, 80)).toThrow('not acceptable');
  });

  test('a certificate is not accepted as a key', async () => {
    const { path } = await keygen('ed25519', []);
    await exec('ssh-keygen', ['-q', '-s', path, '-I', 'x', '-n', 'x', `${path}.pub`]);
    const certificate = await readFile(`${path}-cert.pub`, 'utf8');
    expect(() => parsePublicKey(certificate)).toThrow('its type is none of');
  });
});
