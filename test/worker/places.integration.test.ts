import { readdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { Closers } from '../../worker/config/closers.ts';
import { readConfig } from '../../worker/config/config.ts';
import { startInstallation } from '../../worker/installation.ts';
import { serve } from '../../worker/serve.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { listen } from '../support/listen.ts';

it('a port in use is reported before anything is started', async () => {
  const other = createServer();
  const port = await listen(other);
  const { state, remove } = await temporaryState();
  const env = {
    MAYFLY_HOST: 'simulated',
    MAYFLY_STATE_DIR: state.root,
    MAYFLY_API_PORT: '0',
    MAYFLY_INGRESS_PORT: String(port),
    MONGODB_URI: '',
    TEMPORAL_ADDRESS: '',
  };
  const taken = { code: 'port_unavailable', message: expect.stringContaining(`:${port} (MAYFLY_INGRESS_PORT)`) };
  const said: string[] = [];
  for (let n = 0; n < 2; n++) {
    await expect(startInstallation(readConfig(env), (line) => said.push(line))).rejects.toMatchObject(taken);
  }
  await expect(serve('api', readConfig(env), new AbortController().signal, new Closers())).rejects.toMatchObject({
    code: 'temporal_unavailable',
  });
  const named = { ...env, MONGODB_URI: 'mongodb://127.0.0.1:1/x', TEMPORAL_ADDRESS: '127.0.0.1:1' };
  await expect(serve('api', readConfig(named), new AbortController().signal, new Closers())).rejects.toMatchObject(
    taken,
  );
  expect([said, await readdir(state.root)]).toEqual([[], ['up.lock']]);
  other.close();
  await remove();
});
