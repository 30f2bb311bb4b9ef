import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { exec } from '../../host/exec.ts';

const project = fileURLToPath(new URL('../../diff', import.meta.url));
/** The race detector needs cgo, which the program is built without. */
const env = { GOFLAGS: '', CGO_ENABLED: '0' };

test.each([
  ['go vet', ['vet', './...']],
  ['go test', ['test', './...']],
])(
  '%s of what compares file systems',
  async (_name, args) => {
    const { stdout } = await exec('go', ['-C', project, ...args], { env, timeoutMs: 480_000 });
    expect(stdout).not.toContain('FAIL');
  },
  500_000,
);
