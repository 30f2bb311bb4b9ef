import { once } from 'node:events';
import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { onPath } from '../../worker/config/artifacts.mjs';
import { type RetentionSettings, readConfig } from '../../worker/config/config.ts';
import { saveSettings } from '../../worker/config/left-settings.ts';
import type { Installation } from '../../worker/installation.ts';
import { ShutdownWatchdog } from '../../worker/stop-watch.ts';
import { JSON_OPTION, positional } from '../terminal/arguments.ts';
import { CliError, EXIT, usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { type Connection, connectionFileOf, DEFAULT_STATE_DIR } from '../terminal/connection.ts';
import type { Io } from '../terminal/io.ts';

/** Image that `npm run setup` builds. */
const DEFAULT_SOURCE = 'golden-debian12';

/** Saves address and key for other commands; atomically, and never readable by others. */
async function writeConnection(stateDir: string, connection: Connection): Promise<string> {
  const path = connectionFileOf(stateDir);
  const partial = `${path}.${process.pid}`;
  await writeFile(partial, `${JSON.stringify(connection)}\n`, { mode: 0o600 });
  await chmod(partial, 0o600);
  await rename(partial, path);
  return path;
}

interface Welcome {
  installation: Installation;
  keyFile: string;
  source: string;
  retention: RetentionSettings;
}

/** Describes the retention. */
export function formatRetention({ recordDays, auditDays }: RetentionSettings): string {
  const days = (n: number | null) => (n === null ? 'for ever' : `${n} ${n === 1 ? 'day' : 'days'}`);
  return `records of ended sandboxes ${days(recordDays)} (MAYFLY_RETENTION_DAYS), their audit ${days(auditDays)}`;
}

/** Returns the exports that another terminal needs to find this installation; none for the default folder. */
export function exportText(stateDir: string): string[] {
  if (stateDir === DEFAULT_STATE_DIR) return [];
  const isPlain = /^[\w./-]+$/.test(stateDir);
  return [`export MAYFLY_STATE_DIR=${isPlain ? stateDir : `'${stateDir.replaceAll("'", "'\\''")}'`}`];
}

function welcome(io: Io, { installation, keyFile, source, retention }: Welcome): string[] {
  const { apiUrl, hooksUrl, ingressUrl, kind, hostId } = installation;
  const { temporalUiUrl } = installation.describe();
  const program = onPath('mayfly') ? 'mayfly' : relative('', process.argv[1] ?? 'bin/mayfly');
  return [
    '',
    `  API          ${apiUrl}   (docs: ${apiUrl}/docs)`,
    ...(hooksUrl ? [`  hooks        ${hooksUrl}`] : []),
    `  open ports   below ${ingressUrl} (\`${program} port open\`)`,
    ...(temporalUiUrl ? [`  Temporal UI  ${temporalUiUrl}`] : []),
    `  admin key    in ${keyFile} (0600); \`mayfly\` on this machine finds it there`,
    `  host         ${hostId}, ${kind}${kind === 'simulated' ? io.paint('yellow', ': it isolates NOTHING') : ''}`,
    `  keeps        ${formatRetention(retention)}`,
    '',
    '  another terminal:',
    ...exportText(installation.stateDir).map((line) => `    ${line}`),
    `    ${program} sandbox create ${source}`,
    '  the same over HTTP:',
    `    KEY=$(${program} key create me)`,
    `    curl -sS ${apiUrl}/v1/sandboxes -H "Authorization: Bearer $KEY" \\`,
    `      -H 'Content-Type: application/json' -H 'Prefer: wait=60' -d '{"source":"${source}"}'`,
    `    curl -sS ${apiUrl}/v1/sandboxes/sbx-…/commands -H "Authorization: Bearer $KEY" \\`,
    `      -H 'Content-Type: application/json' -d '{"command":"id"}'`,
    `    curl -sS -X DELETE ${apiUrl}/v1/sandboxes/sbx-… -H "Authorization: Bearer $KEY"`,
    '',
    '  Ctrl-C stops these processes; sandboxes stay as they are, and the next `mayfly up` goes on with them.',
  ];
}

function brokenError(what: string, stateDir: string): CliError {
  const remedy = `See the logs in ${stateDir}, then start \`mayfly up\` again: it goes on where it was.`;
  return new CliError(EXIT.failed, 'A part of Mayfly ended by itself', what, remedy);
}

/** `mayfly up`: runs all of Mayfly on this machine, in the foreground. */
export const upCommand = customCommand({
  args: JSON_OPTION,
  async run({ io, args }) {
    const config = readConfig(io.env);
    const { startInstallation } = await import('../../worker/installation.ts');
    const installation = await startInstallation(
      config,
      (line) => io.note(`  ${line}`),
      io.signal,
      watchShutdown(io).closers,
    );
    try {
      const { apiUrl, hooksUrl, ingressUrl, adminKey, hostId, kind, stateDir } = installation;
      await saveSettings(stateDir, io.env);
      const keyFile = await writeConnection(stateDir, { apiUrl, apiKey: adminKey });
      if (args.json)
        io.printJson({ apiUrl, hooksUrl, ingressUrl, hostId, kind, stateDir, keyFile, ...installation.describe() });
      else {
        const given = { installation, keyFile, source: DEFAULT_SOURCE, retention: config.retention };
        for (const line of welcome(io, given)) io.print(line);
      }
      const interrupted = io.signal.aborted ? Promise.resolve() : once(io.signal, 'abort');
      const broken = await Promise.race([installation.broken, interrupted.then(() => null)]);
      if (broken !== null) throw brokenError(broken, stateDir);
    } finally {
      io.note('stopping; sandboxes stay as they are (Ctrl-C again: at once)');
      // The key ends with this run.
      await rm(connectionFileOf(installation.stateDir), { force: true });
      await installation.stop({ sandboxes: 'keep' });
    }
    io.note('stopped');
  },
});

/** Watches the shutdown of a long-running command: it exits in time, with `failed` when it had to be killed. */
export function watchShutdown(io: Io): ShutdownWatchdog {
  return new ShutdownWatchdog({
    signal: io.signal,
    say: (line) => io.note(line),
    end: () => process.exit(EXIT.failed),
    leave: () => process.exit(),
  });
}

function nameOf(text: string): 'api' | 'control' | 'host' | 'proxy' {
  if (text === 'api' || text === 'control' || text === 'host' || text === 'proxy') return text;
  throw usageError(`there is no process ${JSON.stringify(text)}`, 'Use api, control, host or proxy.');
}

/** `mayfly serve`: runs one process alone, for installations over several machines. */
export const serveCommand = customCommand({
  args: { process: positional('api, control, host or proxy') },
  async run({ io, args }) {
    const name = nameOf(args.process);
    const { serve } = await import('../../worker/serve.ts');
    await serve(name, readConfig(io.env), io.signal, watchShutdown(io).closers);
  },
});
