/**
 * `npm run bench:functions -- [--host simulated|libvirt] [--runs N]`: what functions cost beside what they stand on, in an
 * installation of its own, which is gone afterwards. Prints the figures as JSON.
 *
 * @module
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isInPlace, runInPlace } from '../../cli/place/run-in-place.ts';
import { EXIT } from '../../cli/terminal/exit-codes.ts';
import { Io } from '../../cli/terminal/io.ts';
import { exitCodeOf, reportError } from '../../cli/terminal/report-error.ts';
import { MayflyClient } from '../../client/mayfly-client.ts';
import { readConfig } from '../../worker/config/config.ts';
import { startInstallation } from '../../worker/installation.ts';
import { recallServers } from '../../worker/servers/remembered-servers.ts';
import { measureAccepting } from './accepting.ts';
import { measureRuns } from './runs.ts';
import { measureSchedule, measureWebhooks } from './told.ts';
import { measureWarm } from './warm.ts';

const SOURCE = 'golden-debian12';

async function bench(io: Io, argv: string[]): Promise<number> {
  const { values } = parseArgs({
    args: argv,
    options: { host: { type: 'string', default: 'simulated' }, runs: { type: 'string', default: '20' } },
  });
  if (!isInPlace(io.env)) {
    return runInPlace(io, 'bench', [...process.execArgv, fileURLToPath(import.meta.url), ...argv]);
  }
  const runs = Number(values.runs);
  const env = { ...io.env, MAYFLY_TEMPLATES: 'off', MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8', MAYFLY_HOST: values.host };
  const config = readConfig(env);
  const installation = await startInstallation(config, (line) => io.note(`  ${line}`));
  try {
    const { apiUrl, adminKey } = installation;
    const servers = await recallServers(config.stateDir);
    if (!servers) throw new Error('the installation did not say where its servers are');
    const client = new MayflyClient({ baseUrl: apiUrl, apiKey: adminKey });
    const of = { client, source: SOURCE, runs };
    io.note('accepting');
    const accepting = await measureAccepting({ ...of, storeUri: servers.storeUri, runs: runs * 10 });
    io.note('runs');
    const whole = await measureRuns(of);
    io.note('runs that have a member of a pool');
    const warm = await measureWarm(of);
    io.note('webhooks');
    const webhooks = await measureWebhooks(of);
    io.note('a schedule');
    const schedule = await measureSchedule({ ...of, runs: runs * 2 });
    io.printJson({ host: values.host, accepting, runs: whole, warm, webhooks, schedule });
  } finally {
    await installation.stop({ sandboxes: 'destroy' });
  }
  return EXIT.ok;
}

const [end, force] = [new AbortController(), new AbortController()];
const { stdout, stderr, env } = process;
const io = new Io({ stdout, stderr, env, signal: end.signal, force: force.signal });
const interrupt = () => (end.signal.aborted ? force : end).abort(new Error('interrupted'));
if (isInPlace(env)) process.on('SIGINT', () => process.exit(EXIT.interrupted));
else for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, interrupt);
try {
  process.exitCode = await bench(io, process.argv.slice(2));
} catch (error) {
  reportError(io, error, { json: false });
  process.exitCode = exitCodeOf(error);
}
