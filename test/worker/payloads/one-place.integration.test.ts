import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../../../worker/config/artifacts.mjs';

/** What speaks to Temporal itself, or only looks whether it is there: no payloads; and the worker of an attacker. */
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

test('one place makes clients of Temporal, so that none writes in the clear', () => {
  expect(filesWith(/\bnew (?:Workflow|Schedule)?Client\(\{? ?(?:connection|options)/)).toEqual([
    'worker/payloads/data-converter.ts',
  ]);
});

test('no worker is made without the converter', () => {
  const makers = filesWith(/\bWorker\.create\(/);
  expect(makers).toEqual(['worker/control.ts', 'worker/host.ts']);
  for (const path of makers) {
    expect(readFileSync(join(repository, path), 'utf8')).toMatch(/namespace,\s+dataConverter,\s+taskQueue/);
  }
});
