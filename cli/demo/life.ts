import { setTimeout as sleep } from 'node:timers/promises';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import { unprovenLayers } from '../../model/sandbox/proof.ts';
import { isFinal, type SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { Installation } from '../../worker/installation.ts';
import { proofLines, sandboxLines } from '../sandbox/sandbox-text.ts';
import { CliError } from '../terminal/cli-error.ts';
import { between, duration } from '../terminal/duration.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { printAudit } from './audit-trail.ts';
import { gatherEvidence } from './evidence.ts';
import { timeLine } from './time-line.ts';
import { useSandbox } from './use.ts';
import { firstUse, type Way } from './ways.ts';

/** How often the record is read while a saga runs. Milliseconds. */
const LOOK_MS = 100;

/** A sandbox that boots, from request to proof. @returns how it came to its machine, and whether nothing of it was found afterwards */
export async function liveAndDie(
  io: Io,
  installation: Installation,
  client: MayflyClient,
  source: string,
): Promise<{ way: Way; agrees: boolean }> {
  const began = performance.now();
  const asked = await client.createSandbox({ source }, { waitSeconds: 0, signal: io.signal });
  const running = await watch(io, client, asked, (r) => r.state === 'running' || isFinal(r.state));
  const createMs = performance.now() - began;
  if (running.state !== 'running') throw notRunning(running);
  io.print(`  running after ${duration(createMs)}`);
  for (const line of sandboxLines(io, running)) io.print(`  ${line}`);

  const { id } = running;
  io.print('\n3. use it');
  const way = await firstUse(io, client, running, createMs);
  await useSandbox(io, client, id);

  const before = await gatherEvidence(installation, id);
  io.print('\n4. destroy it');
  const ending = await client.destroySandbox(id, { waitSeconds: 0, signal: io.signal });
  const asOf = Date.now();
  const gone = await watch(io, client, ending, (r) => isFinal(r.state), running.steps.length);
  io.print(`  ${gone.state} after ${duration(Date.now() - asOf)}`);

  io.print('\n5. the proof');
  if (gone.proof) for (const line of proofLines(io, gone.proof)) io.print(`  ${line}`);
  const proved = gone.proof !== null && unprovenLayers(gone.proof.observations).length === 0;

  io.print('\n6. the same, looked at with plain tools');
  const after = await gatherEvidence(installation, id);
  for (const [i, { lookedAt, found }] of after.entries()) {
    const was = before[i]?.found ? 'was there while it ran' : 'was not there while it ran either';
    io.print(`  ${found ? io.paint('red', 'FOUND ') : io.paint('green', 'absent')}  ${printable(lookedAt)} (${was})`);
  }
  const agrees = proved && after.every(({ found }) => !found);
  io.print(agrees ? '  both agree: nothing is left' : io.paint('red', '  they do not agree that nothing is left'));

  io.print('\n7. the audit trail');
  await printAudit(io, client, id);

  io.print('\n8. the steps of the saga: from the request to a login, and to the proof');
  const ends = gone.steps.slice(running.steps.length);
  for (const line of [...timeLine(running.steps), '', ...timeLine(ends)]) io.print(`  ${line}`);
  return { way, agrees };
}

/** Prints each step when it has ended, with its duration, until `reached`. */
async function watch(
  io: Io,
  client: MayflyClient,
  first: SandboxRecord,
  reached: (record: SandboxRecord) => boolean,
  printedBefore = 0,
): Promise<SandboxRecord> {
  let printed = printedBefore;
  for (let record = first; ; record = await client.getSandbox(first.id, { signal: io.signal })) {
    for (const { step, startedAt, endedAt } of record.steps.slice(printed)) {
      io.print(`  ${printable(step).padEnd(22)}${duration(between(startedAt, endedAt)).padStart(9)}`);
    }
    printed = Math.max(printed, record.steps.length);
    if (reached(record)) return record;
    io.noteForNow(`  ${record.waitingFor ?? record.phase ?? record.state} …`);
    await sleep(LOOK_MS, undefined, { signal: io.signal });
  }
}

function notRunning({ id, failure }: SandboxRecord): CliError {
  return new CliError(
    EXIT.failed,
    `${id} did not become usable`,
    failure ? `${failure.step}: ${failure.message}` : 'it was ended before it ran',
    'Run `bin/mayfly doctor`; on a machine without virtualisation use MAYFLY_HOST=simulated.',
  );
}
