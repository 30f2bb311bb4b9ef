import { readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { bundleWorkflows } from '../../../worker/bundle.ts';
import { workflowBundlePath } from '../../../worker/config/artifacts.mjs';
import { useFolder } from '../../support/use-folder.ts';

const root = useFolder();

beforeAll(async () => {
  vi.stubEnv('XDG_CACHE_HOME', root);
});
afterAll(async () => {
  vi.unstubAllEnvs();
});

const warnings: string[] = [];
const logger = new DefaultLogger('WARN', ({ message }) => warnings.push(message));

describe('bundleWorkflows', () => {
  it('makes the bundle once, and takes it from the cache afterwards', async () => {
    const { code } = (await bundleWorkflows(logger)) as { code: string };
    expect(code).toContain('importWorkflows');
    expect(code).toMatch(/^[\0-\xff]*$/);
    expect(code, 'each workflow evaluates its modules anew: models are imported as types').not.toMatch(
      /node_modules\/zod\//,
    );
    expect(await readFile(workflowBundlePath(), 'utf8')).toBe(code);
    await writeFile(workflowBundlePath(), 'kept');
    expect(await bundleWorkflows(logger)).toEqual({ code: 'kept' });
    expect(warnings).toEqual([]);
  });

  it('bundles at each start without a cache, with a warning; a new bundle replaces old ones', async () => {
    await bundleWorkflows(logger);
    const folder = join(root, 'mayfly', 'workflows');
    await rm(workflowBundlePath());
    await writeFile(join(folder, 'old.js'), '');
    await utimes(join(folder, 'old.js'), 0, 0);
    await writeFile(join(folder, 'other.js'), '');
    await bundleWorkflows(logger);
    expect((await readdir(folder)).sort()).toEqual([workflowBundlePath().slice(folder.length + 1), 'other.js'].sort());

    vi.stubEnv('XDG_CACHE_HOME', join(folder, 'other.js'));
    expect(await bundleWorkflows(logger)).toMatchObject({ code: expect.stringContaining('importWorkflows') });
    expect(warnings).toEqual([expect.stringContaining('bundled anew at each start')]);
  });
});
