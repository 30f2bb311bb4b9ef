import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { ExecError } from '../../host/os/exec.ts';
import { MayflyError } from '../../model/errors.ts';
import { activityFailure, retryForeverFailure } from '../../worker/activity-failure.ts';

const noSpace = new ExecError('cp', ['--archive'], 1, "cp: error writing '/x': No space left on device\n", '', null);
const enospc = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });

test.each([
  ['a program', noSpace],
  ['a call to the kernel', enospc],
  ['a step that failed by it', new MayflyError('clone_failed', 'The disk could not be copied', { cause: noSpace })],
  ['an error with such a cause', new Error('outer', { cause: enospc })],
])('%s without space on the host is classified as such, and not retried', (_what, error) => {
  const failure = activityFailure(error);
  expect(failure).toBeInstanceOf(ApplicationFailure);
  expect(failure).toMatchObject({ type: 'host_disk_full', nonRetryable: true });
  expect(failure).toMatchObject({ message: expect.stringMatching(/^The host's disk is full: /) });
});

test('a full disk of the guest is a different error', () => {
  const guest = new MayflyError('guest_disk_full', 'cp: No space left on device');
  expect(activityFailure(guest)).toMatchObject({ type: 'guest_disk_full' });
  expect(activityFailure(new Error('No space left on device'))).toMatchObject({ type: 'internal' });
});

test('a store, host or Temporal that is unavailable is retried', () => {
  for (const code of ['store_unavailable', 'host_unavailable', 'temporal_unavailable'] as const) {
    expect(activityFailure(new MayflyError(code, 'away'))).toMatchObject({ type: code, nonRetryable: false });
  }
  expect(activityFailure(new MayflyError('source_not_found', 'no'))).toMatchObject({ nonRetryable: true });
});

test('a clean-up is retried on any failure, except those its saga handles', () => {
  for (const code of ['host_disk_full', 'sandbox_not_found', 'stale_attempt'] as const) {
    expect(retryForeverFailure(new MayflyError(code, 'no'))).toMatchObject({ type: code, nonRetryable: false });
  }
  for (const code of ['sandbox_not_running', 'capture_in_use', 'source_in_use'] as const) {
    expect(retryForeverFailure(new MayflyError(code, 'no'))).toMatchObject({ type: code, nonRetryable: true });
  }
});
