import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { readConfig } from '../../worker/config/config.ts';
import { duration } from '../terminal/duration.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { showLife } from './life.ts';
import { showWays } from './ways.ts';

/** Runs the demo inside its namespace; without `ways` no template is built beside it. @returns an exit code */
export async function runDemo(io: Io, source: string, ways: boolean): Promise<number> {
  const config = readConfig({ ...io.env, ...(!ways && { MAYFLY_TEMPLATES: 'off' }) });
  const started = Date.now();
  const { startInstallation } = await import('../../worker/installation.ts');
  io.print('\n1. start an installation');
  const installation = await startInstallation(config, (line) => io.print(`  ${printable(line)}`), io.signal);
  try {
    const client = new MayflyClient({ baseUrl: installation.apiUrl, apiKey: installation.adminKey });
    const { isProved, ...cold } = await showLife(io, installation, client, source);
    const isClean = !ways || (await showWays(io, installation, client, source, cold));
    return isProved && isClean ? EXIT.ok : EXIT.failed;
  } finally {
    io.print('\nstop the installation');
    await installation.stop({ sandboxes: 'destroy' });
    io.print(`  stopped; all of this took ${duration(Date.now() - started)}`);
  }
}
