import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { exec } from '../../host/exec.ts';

const project = fileURLToPath(new URL('../../guest', import.meta.url));
/** The race detector needs cgo, which the programs are built without. */
const env = { GOFLAGS: '', CGO_ENABLED: '0' };

test.each([
  ['go vet', ['vet', './...']],
  ['go test', ['test', './...']],
])(
  '%s of what runs inside guests',
  async (_name, args) => {
    const { stdout } = await exec('go', ['-C', project, ...args], { env, timeoutMs: 240_000 });
    expect(stdout).not.toContain('FAIL');
  },
  250_000,
);
