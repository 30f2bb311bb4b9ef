import type { Template } from '../../clients/typescript/http/openapi.ts';
import { type CreateOneSandbox, MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { readConfig } from '../../worker/config/config.ts';
import type { Installation } from '../../worker/installation.ts';
import { duration } from '../terminal/arguments.ts';
import { CliError, EXIT } from '../terminal/cli-error.ts';
import { type Io, printable } from '../terminal/io.ts';
import { gatherEvidence, isProvedGone, poll } from './evidence.ts';
import { type BootedSandbox, createSandbox, runCommand, showLifecycle } from './life.ts';

const POOL = 'demo';
/** Claims without a member after which the demo continues without one. */
const MISSES = 5;
/** Time for which a pool may be degraded, as on a busy machine that boots too slowly, ms. */
const POOL_MS = 600_000;

/** Shows faster creates besides the cold one. @returns true when no sandbox has left residue */
async function showWays(
  io: Io,
  installation: Installation,
  client: MayflyClient,
  source: string,
  cold: BootedSandbox,
): Promise<boolean> {
  const { signal } = io;
  io.print('\n6. create another: it wakes from the memory of a template');
  const template = cold.record.boot?.why === 'no_template' ? await pollTemplate(io, client) : null;
  if (template === null) io.print('  this host makes no templates');
  const woken = template ? [await createAndRun(io, client, { source, boot: 'template' })] : [];

  io.print('\n7. and another: a pool has it ready');
  await client.pools.set(POOL, { source, min: 1, max: 1 }, { signal });
  const claimed = await claim(io, client, source);
  const ways = [cold, ...woken, ...(claimed ? [claimed] : [])];

  io.print('\n8. the ways beside each other');
  io.print(`  ${'way'.padEnd(10)}${'created in'.padStart(10)}${'first command'.padStart(15)}`);
  for (const { way, createMs, commandMs } of ways)
    io.print(`  ${way.padEnd(10)}${duration(createMs).padStart(10)}${duration(commandMs).padStart(15)}`);

  io.print('\n9. destroy what is left, with the pool and the template');
  const options = { waitSeconds: 120, signal };
  await Promise.all([
    ...ways.slice(1).map(({ record }) => client.destroySandbox(record.id, options)),
    client.pools.delete(POOL, options),
    template && client.templates.delete(template.id, options),
  ]);
  return isNothingLeft(io, installation, client);
}

/** Waits for the template that a cold create requested. */
function pollTemplate(io: Io, client: MayflyClient): Promise<Template> {
  return poll(io, async () => {
    const [template] = (await client.templates.list({ signal: io.signal })).items;
    if (template?.state === 'failed') throw notReady('template', template.reason);
    return template?.state === 'ready' ? template : `the template, which is ${template?.state ?? 'requested'}`;
  });
}

/**
 * Claims a member of the pool; on a busy machine none may answer in time, and then the sandbox boots. @returns null:
 * none did
 */
async function claim(io: Io, client: MayflyClient, source: string): Promise<BootedSandbox | null> {
  const until = performance.now() + POOL_MS;
  for (let misses = 0; misses < MISSES; misses++) {
    await poll(io, async () => {
      const pool = await client.pools.get(POOL, { signal: io.signal });
      if (pool.state === 'degraded' && performance.now() > until) throw notReady('pool', pool.reason);
      return pool.members.some(({ state }) => state === 'warm')
        ? pool
        : `the pool, which is ${pool.state}${pool.reason === null ? '' : `: ${pool.reason}`}`;
    });
    const claimed = await createAndRun(io, client, { source });
    if (claimed.way === 'warm') return claimed;
    io.print('  no member answered in time: the demo destroys this sandbox and repeats the claim');
    await client.destroySandbox(claimed.record.id, { waitSeconds: 120, signal: io.signal });
  }
  io.print(`  no member answered in ${MISSES} claims: this machine is too busy to show one`);
  return null;
}

async function createAndRun(io: Io, client: MayflyClient, request: CreateOneSandbox): Promise<BootedSandbox> {
  const created = await createSandbox(io, client, request);
  return { ...created, commandMs: await runCommand(io, client, created.record.id) };
}

/** Searches for residue of every sandbox, also of those for the template and the pool. */
async function isNothingLeft(io: Io, installation: Installation, client: MayflyClient): Promise<boolean> {
  const { items } = await client.listSandboxes({ limit: 200, signal: io.signal });
  const left: string[] = [];
  for (const record of items) {
    const evidence = await gatherEvidence(installation, record.id);
    if (!isProvedGone(record) || evidence.some(({ found }) => found)) left.push(record.id);
  }
  const none = `  there were ${items.length} sandboxes: each is proved gone, and plain tools see none of them`;
  io.print(left.length === 0 ? none : io.paint('red', `  left: ${left.join(', ')}`));
  return left.length === 0;
}

function notReady(what: string, reason: string | null): CliError {
  return new CliError(EXIT.failed, `The ${what} is not ready`, printable(reason ?? ''), 'Run `bin/mayfly doctor`.');
}

/** Runs the demo inside its namespace; without `ways`, templates are off. @returns an exit code */
export async function runDemo(io: Io, source: string, ways: boolean): Promise<number> {
  const config = readConfig({ ...io.env, ...(!ways && { MAYFLY_TEMPLATES: 'off' }) });
  const started = Date.now();
  const { startInstallation } = await import('../../worker/installation.ts');
  io.print('\n1. start an installation');
  const installation = await startInstallation(config, (line) => io.print(`  ${printable(line)}`), io.signal);
  try {
    const client = new MayflyClient({ baseUrl: installation.apiUrl, apiKey: installation.adminKey });
    const { isProved, ...cold } = await showLifecycle(io, installation, client, source);
    const isClean = !ways || (await showWays(io, installation, client, source, cold));
    return isProved && isClean ? EXIT.ok : EXIT.failed;
  } finally {
    io.print('\nstop the installation');
    await installation.stop({ sandboxes: 'destroy' });
    io.print(`  stopped; all of this took ${duration(Date.now() - started)}`);
  }
}
