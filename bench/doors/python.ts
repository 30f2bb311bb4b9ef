import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { readyPythonTools } from '../../scripts/setup/python/python-tools.mjs';
import { repository } from '../../worker/config/artifacts.mjs';
import { WARM_UP } from '../measure/in-turn.ts';
import type { Samples } from '../measure/measure.ts';
import type { DoorsBench } from './doors-bench.ts';

const BUILT = join(repository, 'dist', 'python');
const PROGRAM = join(import.meta.dirname, 'beside_httpx.py');
const pair = z.object({ ours: z.number(), beside: z.number() });

/** Whether there is a Python client to measure: `npm run client:python` makes it. */
export function isPythonReady(): boolean {
  return readyPythonTools() !== null && existsSync(join(BUILT, 'mayfly'));
}

export async function clientBesideHttpx({ apiUrl, apiKey, runs }: DoorsBench, samples: Samples): Promise<void> {
  const env = { ...process.env, MAYFLY_URL: apiUrl, MAYFLY_API_KEY: apiKey, PYTHONPATH: BUILT };
  const argv = ['-B', PROGRAM, String(WARM_UP + runs)];
  const { stdout } = await promisify(execFile)(readyPythonTools() ?? '', argv, { env });
  for (const line of stdout.trim().split('\n').slice(WARM_UP)) {
    const { ours, beside } = pair.parse(JSON.parse(line));
    samples.add('ours', ours);
    samples.add('beside', beside);
  }
}
