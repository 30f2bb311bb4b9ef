import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { useTerminals } from '../../../cli/top/on-a-terminal.ts';
import { manySandboxes } from '../../../cli/top/top-stand-in.ts';
import { letTimePass } from '../../../support/passage-of-time.ts';

const { api, top } = useTerminals();
const STEP = { step: 'cloneDisk', startedAt: '2026-11-21T10:00:00.000Z', endedAt: '2026-11-21T10:00:00.120Z' };
const MEASURED_MS = 30_000;
/** Clock tick of proc(5), in every Linux. */
const TICK_MS = 10;

/** Returns the processor time of a process, ms. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

it('uses little processor time, even with 10,000 sandboxes', async () => {
  api().sandboxes = manySandboxes(10_000, { steps: Array.from({ length: 12 }, () => STEP) });
  const terminal = top({ columns: 160, rows: 50 });
  await terminal.shows('> sbx-0000000000000000');
  // The end of the list is shown after all pages before it were read.
  const all = () => terminal.screen.lines[1]?.startsWith('[1 sandboxes 10000]') === true;
  await terminal.until('all pages', () => {
    if (!all()) terminal.type('G');
    return all();
  });
  terminal.type('G');
  await terminal.shows('> sbx-0000000000009999');
  await letTimePass(10_000); // code is compiled at its first use
  const pid = Number(terminal.file('pid'));
  const before = processorMs(pid);
  await letTimePass(MEASURED_MS);
  const share = (processorMs(pid) - before) / MEASURED_MS;
  const memory = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  process.stdout.write(`${(share * 100).toFixed(2)} % of a core, ${memory} KiB; ${terminal.screen.lines[1]}\n`);
  expect(share).toBeLessThan(0.03);
  terminal.type('g');
  await terminal.shows('> sbx-0000000000000000');
});
