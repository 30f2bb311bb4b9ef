import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ExecError, exec } from '../../host/exec.ts';

const project = fileURLToPath(new URL('../../diff', import.meta.url));
/** The race detector needs cgo, which the program is built without. */
const env = { GOFLAGS: '', CGO_ENABLED: '0' };

test.each([
  ['go vet', ['vet', './...']],
  ['go test', ['test', './...']],
])(
  '%s of what compares file systems',
  async (_name, args) => {
    const ran = exec('go', ['-C', project, ...args], { env, timeoutMs: 480_000 });
    const { stdout } = await ran.catch((error: unknown) => {
      // Which test failed, and why, is on its standard output.
      throw error instanceof ExecError ? new Error(`${error.message}\n${error.stdout}`) : error;
    });
    expect(stdout).not.toContain('FAIL');
  },
  500_000,
);
