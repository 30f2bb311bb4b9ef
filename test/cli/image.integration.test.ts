import { afterEach, describe, expect, it, vi } from 'vitest';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { useFolder } from '../support/use-folder.ts';
import { runLine } from './run-line.ts';

// Guards: an unavailable image is refused with a remedy before anything is built. Builds nothing.
const server = useStandIn();
const stateDir = useFolder();
afterEach(() => vi.restoreAllMocks());

const line = (args: string[], env: NodeJS.ProcessEnv = {}) =>
  runLine(server, ['image', ...args], {
    env: { MAYFLY_STATE_DIR: stateDir, MAYFLY_LIBVIRT_URI: 'private', MAYFLY_HOST_ID: 'here', ...env },
  });

describe('mayfly image pull', () => {
  it.each(['nosuch', 'debian12', 'golden-debian12', '../agent'])('has no %s to pull', async (name) => {
    expect(await line(['pull', name])).toMatchObject({
      code: 2,
      err: expect.stringContaining('pulled: agent, desktop.'),
    });
  });

  it('refuses on a simulated host', async () => {
    const { code, err } = await line(['pull', 'agent'], { MAYFLY_HOST: 'simulated' });
    expect([code, err]).toEqual([2, expect.stringContaining('Use golden-debian12')]);
  });

  it('refuses when the running worker is of a simulated host, for any environment', async () => {
    server.answers((_, response) => answerJson(response, 200, { items: [{ id: 'here', kind: 'simulated' }] }));
    const asked = { MAYFLY_URL: server.url, MAYFLY_API_KEY: 'mfk_secret' };
    const { code, err } = await line(['pull', 'agent'], asked);
    expect([code, err]).toEqual([2, expect.stringContaining('this host is simulated')]);
    expect(server.seen.map(({ path }) => path)).toEqual(['/v1/hosts']);
  });

  it('needs root', async () => {
    vi.spyOn(process, 'getuid').mockReturnValue(1_000);
    const { code, err } = await line(['pull', 'golden-agent']);
    expect([code, err]).toEqual([4, expect.stringContaining('sudo')]);
  });
});

describe('mayfly image list', () => {
  it('shows the use of each on a simulated host', async () => {
    const { code, out } = await line(['list', '--json'], { MAYFLY_HOST: 'simulated' });
    const items = out.trim().split('\n');
    expect([code, items.length]).toEqual([0, 3]);
    for (const item of items) expect(JSON.parse(item)).toMatchObject({ source: 'simulated' });
  });

  it('starts nothing: without libvirtd no image is a source yet', async () => {
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
