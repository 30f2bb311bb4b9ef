import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { exec } from '../../../host/os/exec.ts';
import { goTestEnv } from '../../support/go-test-env.ts';

const project = fileURLToPath(new URL('../../../go', import.meta.url));

test('go test of the programs for guests passes', async () => {
  const { stdout } = await exec('go', ['-C', project, 'test', './agent/...', './gate/...', './root/...'], {
    env: goTestEnv,
    timeoutMs: 240_000,
  });
  expect(stdout).not.toContain('FAIL');
});
