import { MayflyError } from '../../model/errors.ts';
import { isLive } from '../../model/host.ts';
import { open } from '../http/auth.ts';
import type { App, AppDeps } from '../http/context.ts';

interface Check {
  name: string;
  ok: boolean;
  detail: string | null;
}

/** /healthz: this process answers. /readyz: a sandbox could be made now; if not, it says what is missing. */
export function healthRoutes(app: App, deps: AppDeps): void {
  app.get('/healthz', open, (c) => c.json({ status: 'ok', version: deps.version }));
  app.get('/readyz', open, async (c) => {
    const probes = Object.entries({ ...standardProbes(deps), ...deps.readiness });
    const checks = await Promise.all(probes.map(([name, probe]) => check(name, probe)));
    const ready = checks.every(({ ok }) => ok);
    return c.json({ status: ready ? 'ready' : 'not-ready', checks }, ready ? 200 : 503);
  });
}

function standardProbes({ store, sagas }: AppDeps): Record<string, () => Promise<void>> {
  return {
    store: () => store.ping(),
    temporal: () => sagas.reach(),
    host: async () => {
      const hosts = await store.hosts.list();
      if (!hosts.some((host) => isLive(host))) throw new MayflyError('no_host', 'No host worker was heard of lately.');
    },
  };
}

/** What an error says is told only when it is one of ours: this path is open to everybody. */
async function check(name: string, probe: () => Promise<void>): Promise<Check> {
  try {
    await probe();
    return { name, ok: true, detail: null };
  } catch (error) {
    return { name, ok: false, detail: error instanceof MayflyError ? error.message : 'it failed' };
  }
}
