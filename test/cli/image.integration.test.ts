import { afterEach, describe, expect, it, vi } from 'vitest';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { useFolder } from '../support/use-folder.ts';
import { runLine } from './run-line.ts';

// Promise: who cannot have an image is told so, and what to do, before anything is built. Nothing is built here.
const server = useStandIn();
const stateDir = useFolder();
afterEach(() => vi.restoreAllMocks());

const line = (args: string[], env: NodeJS.ProcessEnv = {}) =>
  runLine(server, ['image', ...args], {
    env: { MAYFLY_STATE_DIR: stateDir, MAYFLY_LIBVIRT_URI: 'private', MAYFLY_HOST_ID: 'here', ...env },
  });

describe('mayfly image pull', () => {
  it.each(['nosuch', 'debian12', 'golden-debian12', '../agent'])('there is no %s to pull', async (name) => {
    expect(await line(['pull', name])).toMatchObject({
      code: 2,
      err: expect.stringContaining('pulled: agent, desktop.'),
    });
  });

  it('on a simulated host: there is no use for it', async () => {
    const { code, err } = await line(['pull', 'agent'], { MAYFLY_HOST: 'simulated' });
    expect([code, err]).toEqual([2, expect.stringContaining('Use golden-debian12')]);
  });

  it('where the worker that runs is of a simulated host, whatever the environment says', async () => {
    server.answers((_, response) => answerJson(response, 200, { items: [{ id: 'here', kind: 'simulated' }] }));
    const asked = { MAYFLY_URL: server.url, MAYFLY_API_KEY: 'mfk_secret' };
    const { code, err } = await line(['pull', 'agent'], asked);
    expect([code, err]).toEqual([2, expect.stringContaining('this host is simulated')]);
    expect(server.seen.map(({ path }) => path)).toEqual(['/v1/hosts']);
  });

  it('takes root', async () => {
    vi.spyOn(process, 'getuid').mockReturnValue(1_000);
    const { code, err } = await line(['pull', 'golden-agent']);
    expect([code, err]).toEqual([4, expect.stringContaining('sudo')]);
  });
});

describe('mayfly image list', () => {
  it('says of each what a simulated host can do with it', async () => {
    const { code, out } = await line(['list', '--json'], { MAYFLY_HOST: 'simulated' });
    const items = out.trim().split('\n');
    expect([code, items.length]).toEqual([0, 3]);
    for (const item of items) expect(JSON.parse(item)).toMatchObject({ source: 'simulated' });
  });

  it('starts nothing: without a libvirtd no image is a source yet', async () => {
    vi.stubEnv('XDG_CACHE_HOME', stateDir);
    try {
      const { code, out } = await line(['list']);
      expect(code).toBe(0);
      expect(out).toMatch(/golden-debian12 +no +- +no; `npm run setup`\n/);
      expect(out).toMatch(/golden-agent +no +- +no; `mayfly image pull agent`\n/);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
