import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ExecError, exec } from '../../host/exec.ts';

const project = fileURLToPath(new URL('../../diff', import.meta.url));
/** Five minutes were seen where many others wanted the two processors. */
const GRANTED_MS = 900_000;
/** The race detector needs cgo, which the program is built without. */
const env = { GOFLAGS: '', CGO_ENABLED: '0' };

test.each([
  ['go vet', ['vet', './...']],
  ['go test', ['test', '-timeout=15m', './...']],
])(
  '%s of what compares file systems',
  async (_name, args) => {
    const ran = exec('go', ['-C', project, ...args], { env, timeoutMs: GRANTED_MS });
    const { stdout } = await ran.catch((error: unknown) => {
      // Which test failed, and why, is on its standard output.
      throw error instanceof ExecError ? new Error(`${error.message}\n${error.stdout}`) : error;
    });
    expect(stdout).not.toContain('FAIL');
  },
  GRANTED_MS + 20_000,
);
