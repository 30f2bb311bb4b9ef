import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createCommands } from '../../cli/commands.ts';
import { quietIo } from '../cli/run-line.ts';
import { useOpened } from '../support/use-opened.ts';
import { commandLinesOf, PAGES } from './documented.ts';
import { Installation, PageWalk } from './page-walk.ts';

/**
 * Commands that page tests skip, with the reason; docs/commands.test.ts still checks that they exist, with their
 * options.
 */
export const NOT_HERE: [RegExp, string][] = [
  [/mayfly up\b/, 'it is what all of this runs in; worker/killed-up.integration'],
  [/mayfly uninstall/, 'takes away what all of this runs in; worker/uninstall.integration'],
  [/mayfly audit verify FILE/, 'needs an export, and keys; worker/audit-export.integration'],
  [/mayfly store copy/, 'needs an empty store, while all of this is stopped; worker/moved-store.integration'],
  [/mayfly serve /, 'needs production Mongo and a Temporal server; worker/serve.integration'],
  [/mayfly host forget /, 'gives up the host that all of this runs on; workflows/reconcile.integration'],
  [/mayfly image pull/, 'builds an image of virtual machines, which takes minutes; cli/image.e2e'],
  [/deploy\/temporal\/certificates\.sh /, 'makes a CA and certificates in /etc; worker/temporal-tls.integration'],
  [/--boot template|mayfly template create/, 'wakes real machines; worker/template.e2e'],
  [/mayfly (?:policy update|approval (?:get|approve|refuse))/, 'needs a file, and somebody who asks; cli/approval'],
  [/desktop-debian12|mayfly desktop /, 'needs an image with a screen; desktop/desktop.integration'],
  [
    /mayfly (?:sandbox create golden-agent|run lab|port open lab)/,
    'JupyterLab comes from the internet; ports/web-editor',
  ],
  [/mayfly image build .* --ready /, 'asks systemd, which a simulated host has not; workflows/image-ready.integration'],
  [/mayfly playbook /, 'tries it with Ansible, which is no part of set-up; workflows/playbook.integration'],
  [/mayfly function /, 'writes a folder, and waits for what is in it; cli/function, cli/function-runs'],
  [
    /mayfly (?:run (?:open|diff)|waitpoint) |\/waitpoints/,
    'needs a run that failed, or waits; cli/run-open, cli/waitpoint',
  ],
  [/mayfly dev\b/, 'lives until Ctrl-C; cli/dev'],
  [/mayfly (?:hook|trigger) /, 'needs a function, and its secret; cli/hook'],
  [/mayfly webhook /, 'needs a receiver; workflows/webhooks.integration'],
  [/mayfly schedule /, 'needs a function, and its time; cli/schedule'],
  [/mayfly receipt |\/receipt"/, 'needs a run that has ended; cli/receipt.integration'],
  [/mayfly approval watch/, 'lives until Ctrl-C; cli/approval'],
  [/mayfly port forward /, 'lives until Ctrl-C; ports/forward.integration'],
  [/mayfly mcp\b/, 'lives as long as its input; mcp/mcp-stdio.integration'],
  [/^npm run fuzz/, 'ten minutes, by hand'],
  [/^npm run demo/, 'a VM of its own; cli/demo.integration'],
  [/^npm (?:test|run test:all)/, 'runs this test'],
  [/^(?:sudo )?npm run setup/, 'has run before any test'],
  [/^npm run types/, 'a minute; .ci/run'],
  [/^(?:npm (?:run client|install)|pip )/, 'in a project of its own, below; client/python.integration'],
  [/^npm run bench/, 'how it is called, with all that may be left out; bench/measure.test'],
];

/** Options that a simulated host refuses, with its error: its guests are process trees, without memory to save. */
const NOT_SIMULATED = new Map([['--full', 'memory']]);

const SNAPSHOT = ['mayfly sandbox create golden-debian12', 'mayfly snapshot create sbx-…'];
/** Preconditions of a page that the page does not explain. */
const GIVEN: Record<string, string[]> = {
  'docs/ports-desktop.md': ['mayfly sandbox create golden-debian12'],
  'docs/backup-upgrade.md': ['mayfly sandbox create golden-debian12'],
  'docs/monitoring.md': [...SNAPSHOT, 'mayfly key list'],
  'docs/sources.md': [...SNAPSHOT, 'mayfly source bake web-1 --from snp-…'],
};
/** Slow pages. */
export const LONG = ['README.md', 'CONTRIBUTING.md', 'docs/api.md', 'docs/sources.md'];

const root = createCommands(quietIo());
/** Pages whose lines run: the generated reference of commands gives no examples. */
const WALKED = PAGES.filter((page) => page !== 'docs/cli.md');
export const LINES = new Map(
  await Promise.all(WALKED.map(async (page) => [page, await commandLinesOf(page, root)] as const)),
);
/** Returns the lines of each page to run; one on several pages, like `mayfly doctor`, runs on the first. */
export function listWalks(): [page: string, commands: string[]][] {
  const typed = new Set<string>();
  return WALKED.map((page) => {
    const commands = (LINES.get(page) ?? []).filter((line) => {
      const isElsewhere = NOT_HERE.some(([left]) => left.test(line)) || typed.has(line);
      if (!/[…<$]/.test(line)) typed.add(line);
      return !isElsewhere;
    });
    return [page, commands] as [string, string[]];
  }).filter(([, commands]) => commands.length > 0);
}

async function runLine(walk: PageWalk, line: string): Promise<void> {
  const { code, stdout, stderr, status } = await walk.type(line);
  const shown = `${line}\n${stdout.slice(0, 2_000)}${stderr.slice(0, 2_000)}`;
  const refusal = [...NOT_SIMULATED].find(([option]) => line.includes(option))?.[1];
  if (refusal) expect([code > 0, stdout], shown).toEqual([true, expect.stringContaining(refusal)]);
  else expect([code, stderr.includes('mayfly: ')], shown).toEqual([0, false]);
  if (status === null) return;
  // a comment states the expected status: `# 200, …`; without one the request must succeed
  const told = / # (\d{3})\b/.exec(line)?.[1];
  expect(told === undefined ? status < 300 : status, shown).toBe(told === undefined ? true : Number(told));
}

/** Starts an installation to run the lines of pages. */
export function usePageWalks() {
  const installation = useOpened(
    () => Installation.start(),
    (started) => started.end(),
  );

  async function runPage(page: string, commands: string[]): Promise<void> {
    const walk = new PageWalk(installation(), page);
    for (const line of GIVEN[page] ?? []) await runLine(walk, line);
    if (page === 'docs/sources.md') await addNginx(installation());
    for (const line of commands) await runLine(walk, line);
    await walk.clear();
  }

  return { installation, runPage };
}

/** Adds nginx to web-1, a user's server. */
async function addNginx({ images }: Installation): Promise<void> {
  const folder = join(images, 'web-1', 'root', 'etc', 'nginx');
  await mkdir(folder);
  await writeFile(join(folder, 'nginx.conf'), 'events {}\n');
}
