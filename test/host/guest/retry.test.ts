import { describe, expect, test } from 'vitest';
import { classifyOpenSshFailure } from '../../../host/guest/openssh-messages.ts';
import { BACKOFF_MS, canRetry, classifyFailure, getBackoff } from '../../../host/guest/retry.ts';
import { LoginFailure, type LoginStage } from '../../../host/ssh/login.ts';

const connect = (stderr: string) => classifyOpenSshFailure({ stderr, exitCode: 255, phase: 'connect' });

describe('the connection of Mayfly', () => {
  test.each<[LoginStage, boolean, string]>([
    ['resolve', true, 'transient'],
    ['tcp', true, 'transient'],
    ['tcp', false, 'never'],
    ['banner', true, 'transient'],
    ['banner', false, 'never'],
    ['kex', true, 'transient'],
    ['kex', false, 'never'],
    ['host-key', false, 'never'],
    ['auth', true, 'transient'],
    ['auth', false, 'first-boot'],
  ])('a failure at %s, lost: %s, is %s', (stage, lost, verdict) => {
    expect(classifyFailure(new LoginFailure(stage, lost, 'x'))).toBe(verdict);
  });

  test('a rejected login is retried only before the first success, and a new certificate is requested once', () => {
    const fresh = { verified: false, reissued: false };
    expect(canRetry('first-boot', fresh)).toBe(true);
    expect(canRetry('first-boot', { ...fresh, verified: true })).toBe(false);
    expect(canRetry('reissue', fresh)).toBe(true);
    expect(canRetry('reissue', { ...fresh, reissued: true })).toBe(false);
    expect(canRetry('never', fresh)).toBe(false);
  });

  test('backoff is 2, 4, 8, 16 and 30 s, with a jitter of a fifth, and then it gives up', () => {
    expect(BACKOFF_MS).toEqual([2_000, 4_000, 8_000, 16_000, 30_000]);
    expect([1, 2, 3, 4, 5, 6].map((attempt) => getBackoff(attempt, 0.5))).toEqual([...BACKOFF_MS, null]);
    expect([getBackoff(1, 0), getBackoff(5, 1)]).toEqual([1_600, 36_000]);
  });
});

describe("the system's ssh", () => {
  test.each([
    'ssh: Could not resolve hostname vm1: Name or service not known',
    'ssh: Could not resolve hostname vm1: nodename nor servname provided, or not known',
    'ssh: Could not resolve hostname vm1.example: Temporary failure in name resolution\r',
    'ssh: connect to host 10.0.0.5 port 22: Connection refused',
    'ssh: connect to host 10.0.0.5 port 22: No route to host',
    'ssh: connect to host 10.0.0.5 port 22: Operation timed out',
    'ssh: connect to host fe80::1%br0 port 22: Network is unreachable',
    'kex_exchange_identification: Connection closed by remote host\nConnection closed by 10.0.0.5 port 22',
    'kex_exchange_identification: read: Connection reset by peer\r\nConnection reset by 10.0.0.5 port 22\r\n',
    'ssh_exchange_identification: Connection closed by remote host',
    'ssh_dispatch_run_fatal: Connection to 10.0.0.5 port 22: Broken pipe',
    'Connection closed by UNKNOWN port 65535',
    'Received disconnect from 10.0.0.5 port 22:12: Too many connections',
    'Timeout, server 10.0.0.5 not responding.',
    'client_loop: send disconnect: Broken pipe',
    "Warning: Permanently added '10.0.0.5' (ED25519) to the list of known hosts.\nConnection reset by 10.0.0.5 port 22",
    '"System is booting up. Unprivileged users are not permitted to log in yet. Please come back later."',
  ])('a failure before anything has run may be retried: %s', (stderr) => {
    expect(connect(stderr)).toBe('transient');
    expect(classifyOpenSshFailure({ stderr, exitCode: 255, phase: 'session' })).toBe('never');
    expect(classifyOpenSshFailure({ stderr, exitCode: 1, phase: 'connect' })).toBe('never');
  });

  test.each([
    '',
    'Connection refused',
    'curl: (7) Failed to connect to 10.0.0.5 port 22: Connection refused',
    'ssh: Could not resolve hostname -bad: Address family for hostname not supported',
    'ssh: connect to host 10.0.0.5 port 22: Permission denied',
    'Host key verification failed.',
    'No ED25519 host key is known for 10.0.0.5 and you have requested strict checking.\nHost key verification failed.',
    'Host key for 10.0.0.5 has changed and you have requested strict checking.\nConnection closed by 10.0.0.5 port 22',
    'Received disconnect from 10.0.0.5 port 22:2: Too many authentication failures\nDisconnected from 10.0.0.5 port 22',
    'Protocol major versions differ: 2 vs. 1',
    'banner exchange: Connection to 10.0.0.5 port 22: invalid format',
    'Unable to negotiate with 10.0.0.5 port 22: no matching host key type found. Their offer: ssh-rsa',
    'Load key "/k": bad permissions\nsandbox@10.0.0.5: Permission denied (publickey).',
    'Certificate invalid: name is not a listed principal',
    'Connection to 10.0.0.5 closed.',
    'Permission denied',
  ])('is not retried: %s', (stderr) => {
    expect(connect(stderr)).toBe('never');
  });

  test('a rejected key is retried during the first boot, an expired certificate is reissued', () => {
    expect(connect('Permission denied (publickey).')).toBe('first-boot');
    expect(connect('sandbox@10.0.0.5: Permission denied (publickey,password).')).toBe('first-boot');
    expect(connect('Certificate invalid: expired')).toBe('reissue');
  });
});
