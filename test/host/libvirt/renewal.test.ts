import { expect, test } from 'vitest';
import { formatRequest } from '../../../host/libvirt/memory/renewal.ts';

const macs = [{ woke: '52:54:00:00:00:01', own: '52:54:00:00:00:02' }];
const hostKey = { privateKey: '-----BEGIN-----\nsecret\n-----END-----\n', publicKey: 'ssh-ed25519 AAAA sbx-a' };

test('a fork gets an identity; a resumed sandbox does not', () => {
  const identity = { sandboxId: 'sbx-0123456789abcdef', hostKey, userCaKeys: ['ssh-ed25519 CA\n'] };
  const [late, entropy, ...rest] = formatRequest({ macs, identity }, 'abc', -1_500).split('\n');
  expect(late).toBe('late 1500');
  expect(entropy).toMatch(/^entropy [0-9a-f]{128}$/);
  expect(rest).toEqual([
    'nic 52:54:00:00:00:01 52:54:00:00:00:02',
    'leave network',
    'name sbx-0123456789abcdef',
    'file host-key',
    '| -----BEGIN-----',
    '| secret',
    '| -----END-----',
    'file host-key.pub',
    '| ssh-ed25519 AAAA sbx-a',
    'file user_ca.pub',
    '| ssh-ed25519 CA',
    'file principals',
    '| sbx-0123456789abcdef',
    'file revoked_keys',
    'nonce abc',
    '',
  ]);
  const again = formatRequest({ macs, identity: null }, 'abc', 20).split('\n');
  expect(again[1]).not.toBe(entropy);
  expect(again.slice(2)).toEqual(['nic 52:54:00:00:00:01 52:54:00:00:00:02', 'leave network', 'nonce abc', '']);
});
