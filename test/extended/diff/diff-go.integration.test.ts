import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ExecError, exec } from '../../../host/os/exec.ts';
import { goTestEnv } from '../../support/go-test-env.ts';

const project = fileURLToPath(new URL('../../../go/diff', import.meta.url));
/** Time limit, ms: five minutes were measured on two busy processors. */
const GRANTED_MS = 900_000;

async function goTest(...args: string[]): Promise<void> {
  const argv = ['-C', project, 'test', '-timeout=15m', ...args, './...'];
  const { stdout } = await exec('go', argv, { env: goTestEnv, timeoutMs: GRANTED_MS }).catch((error: unknown) => {
    // Its standard output names the failed test, and the reason.
    throw error instanceof ExecError ? new Error(`${error.message}\n${error.stdout}`) : error;
  });
  expect(stdout).not.toContain('FAIL');
}

test('go test of the file system comparison passes', () => goTest('-short'), GRANTED_MS + 20_000);

test('go test of it passes with a million names and every seed', () => goTest(), GRANTED_MS + 20_000);
