import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../../../worker/config/artifacts.mjs';

/**
 * Files with direct Temporal connections, without payloads: health checks, raw clients, and the worker of an attacker.
 */
const RAW = [
  'test/crash/agreement.ts',
  'test/crash/losses.ts',
  'test/extended/worker/proxy/temporal-proxy.integration.test.ts',
  'test/extended/worker/temporal-tls.integration.test.ts',
  'test/extended/worker/trust.integration.test.ts',
];

function filesWith(pattern: RegExp): string[] {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.mjs'], {
    cwd: repository,
  });
  return files
    .toString()
    .split('\n')
    .filter((path) => path !== '' && pattern.test(readFileSync(join(repository, path), 'utf8')))
    .filter((path) => !RAW.includes(path) && path !== 'test/worker/payloads/one-place.integration.test.ts')
    .sort();
}

test('Temporal clients are created in one place, so that every one encrypts', () => {
  expect(filesWith(/\bnew (?:Workflow|Schedule)?Client\(\{? ?(?:connection|options)/)).toEqual([
    'worker/payloads/data-converter.ts',
  ]);
});

test('every worker is created with the converter', () => {
  const makers = filesWith(/\bWorker\.create\(/);
  expect(makers).toEqual(['worker/control.ts', 'worker/host.ts']);
  for (const path of makers) {
    expect(readFileSync(join(repository, path), 'utf8')).toMatch(/namespace,\s+dataConverter,\s+taskQueue/);
  }
});
