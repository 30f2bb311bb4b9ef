/**
 * `npm run conformance:mcp [-- --scenario NAME]` runs the suite of the Model Context Protocol against Mayfly's handler
 * and stores, with fixture tools. The suite sends no key, so each request gets one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { createApp } from '../../../api/app.ts';
import type { AppDeps } from '../../../api/http/context.ts';
import { apiServer } from '../../../api/server/api-server.ts';
import { cacheDir } from '../../../worker/config/artifacts.mjs';
import { listen } from '../../support/listen.ts';
import { openStore } from '../../support/open-store.ts';
import { startStoreServer } from '../../support/store-server.ts';
import { createFixtureServer } from './fixture-server.ts';

/** Packages in the cache: the suite needs Node 22, which as a dependency would be the `node` of every npm script. */
const PACKAGES = ['node@22.23.3', '@modelcontextprotocol/conformance@0.2.0-alpha.12'];
const REVISIONS = ['2025-11-25', '2026-07-28'];

async function run(program: string, args: string[], cwd?: string): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', ...(cwd !== undefined && { cwd }) });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

async function suiteFolder(): Promise<string> {
  const folder = join(cacheDir(), 'mcp-conformance');
  const modules = join(folder, 'node_modules');
  if (!existsSync(join(modules, 'node/bin/node')) || !existsSync(join(modules, '@modelcontextprotocol/conformance'))) {
    const code = await run('npm', ['install', '--silent', '--no-save', '--prefix', folder, ...PACKAGES]);
    if (code !== 0) throw new Error('the suite cannot be installed');
  }
  return modules;
}

const modules = await suiteFolder();
const server = await startStoreServer();
const store = await openStore(server.uri);
const { secret } = await store.apiKeys.create({ project: 'default', name: 'conformance', scopes: ['admin'] });
const logger = pino({ level: process.env['MAYFLY_LOG_LEVEL'] ?? 'error' });
const deps = { store, sagas: {}, guests: {}, version: '0', logger, mcpServerOf: createFixtureServer };
const app = createApp(deps as unknown as AppDeps);
const keyed = (request: Request) => {
  const headers = new Headers(request.headers);
  headers.set('Authorization', `Bearer ${secret}`);
  return app.fetch(new Request(request, { headers }));
};
const http = apiServer({ fetch: keyed as typeof app.fetch }, logger);
const url = `http://localhost:${await listen(http)}/mcp`;
const results = await mkdtemp(join(tmpdir(), 'mayfly-conformance-'));
const suite = join(modules, '@modelcontextprotocol/conformance/dist/index.js');
const scenario = process.argv.slice(2);
let failed = 0;
for (const revision of REVISIONS) {
  const which = scenario.length > 0 ? [...scenario, '--spec-version', revision] : ['--requirements', revision];
  failed +=
    (await run(join(modules, 'node/bin/node'), [suite, 'server', '--url', url, ...which], results)) === 0 ? 0 : 1;
}
http.close();
http.closeAllConnections();
await store.close();
await server.stop();
await rm(results, { recursive: true });
process.exitCode = failed;
