import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import type { CreateOneSandbox, MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { ERRORS, isErrorCode } from '../../model/errors.ts';
import type { BootWay } from '../../model/sandbox/sandbox.ts';
import { isFinal, type SandboxState } from '../../model/sandbox/sandbox-state.ts';
import type { Installation } from '../../worker/installation.ts';
import { proofLines } from '../sandbox/sandbox-text.ts';
import { between, duration } from '../terminal/arguments.ts';
import { CliError, EXIT } from '../terminal/cli-error.ts';
import { type Io, printable } from '../terminal/io.ts';
import { gatherEvidence, isProvedGone, poll } from './evidence.ts';

/** Creates after which the demo fails. */
const CREATES = 3;
const COMMAND = 'echo "$(id -un) on $(uname -sr)"; echo "and this is stderr" >&2';

/** Running sandbox, and its caller's waits, ms. */
export interface BootedSandbox {
  record: Sandbox;
  way: BootWay;
  /** From the request until it runs. */
  createMs: number;
  /** From then to the end of its first command. */
  commandMs: number;
}

/**
 * Shows a sandbox that boots, from request to proof. @returns true when the proof and plain tools agree on its absence
 */
export async function showLifecycle(
  io: Io,
  installation: Installation,
  client: MayflyClient,
  source: string,
): Promise<BootedSandbox & { isProved: boolean }> {
  io.print(`\n2. create a sandbox of ${printable(source)}: it boots`);
  const created = await createSandbox(io, client, { source });
  const { id, steps } = created.record;

  io.print('\n3. run a command in it');
  const commandMs = await runCommand(io, client, id);

  const before = await gatherEvidence(installation, id);
  io.print('\n4. destroy it');
  const asOf = performance.now();
  const ending = await client.destroySandbox(id, { waitSeconds: 0, signal: io.signal });
  const gone = await pollSteps(io, client, ending, steps.length, isFinal);
  io.print(`  ${gone.state} after ${duration(performance.now() - asOf)}`);

  io.print('\n5. the proof, and what plain tools see');
  if (gone.proof) for (const line of proofLines(io, gone.proof)) io.print(`  ${line}`);
  const after = await gatherEvidence(installation, id);
  for (const [nth, { lookedAt, found }] of after.entries()) {
    if (found) io.print(`    ${io.paint('red', 'FOUND')}   ${printable(lookedAt)}`);
    else if (before[nth]?.found)
      io.print(`    ${io.paint('green', 'absent')}  ${printable(lookedAt)} (there while it ran)`);
  }
  const isProved = isProvedGone(gone) && after.every(({ found }) => !found);
  io.print(isProved ? '  both agree: nothing is left' : io.paint('red', '  they do not agree that nothing is left'));
  return { ...created, commandMs, isProved };
}

/**
 * Creates a sandbox and waits until it runs. Retries when a busy machine was too slow.
 * @throws CliError when it fails for another reason, or after {@link CREATES} attempts
 */
export async function createSandbox(
  io: Io,
  client: MayflyClient,
  request: CreateOneSandbox,
): Promise<Omit<BootedSandbox, 'commandMs'>> {
  for (let attempt = 1; ; attempt++) {
    const created = await tryCreate(io, client, request);
    if ('way' in created) return created;
    const { failure } = created;
    if (attempt === CREATES || failure === null || !(isErrorCode(failure.code) && ERRORS[failure.code].retryable))
      throw notRunning(created);
    io.print(`  ${printable(`${failure.step}: ${failure.message}`)}`);
    io.print(
      `  nothing of it is left; the machine may be busy, so the demo creates another (${attempt + 1} of ${CREATES})`,
    );
  }
}

/** @returns the record of a sandbox that does not run */
async function tryCreate(
  io: Io,
  client: MayflyClient,
  request: CreateOneSandbox,
): Promise<Omit<BootedSandbox, 'commandMs'> | Sandbox> {
  const began = performance.now();
  const requested = await client.createSandbox(request, { waitSeconds: 0, signal: io.signal });
  const isReached = (state: SandboxState) => state === 'running' || isFinal(state);
  const record = await pollSteps(io, client, requested, requested.steps.length, isReached);
  const createMs = performance.now() - began;
  if (record.state !== 'running') return record;
  const way = record.boot?.way ?? 'cold';
  io.print(`  ${record.id} runs after ${duration(createMs)} (${way})`);
  return { record, way, createMs };
}

/** Prints the steps from `printed` on, as they end, until a state is reached. */
async function pollSteps(
  io: Io,
  client: MayflyClient,
  first: Sandbox,
  printed: number,
  isReached: (state: SandboxState) => boolean,
): Promise<Sandbox> {
  let [next, count]: [Sandbox | null, number] = [first, printed];
  return poll(io, async () => {
    const record = next ?? (await client.getSandbox(first.id, { signal: io.signal }));
    next = null;
    for (const { step, startedAt, endedAt } of record.steps.slice(count))
      io.print(`  ${printable(step).padEnd(22)}${duration(between(startedAt, endedAt)).padStart(9)}`);
    count = Math.max(count, record.steps.length);
    if (isReached(record.state)) return record;
    if (record.waitingFor === null) io.noteForNow(`  ${record.phase ?? record.state} …`);
    return record.waitingFor ?? '';
  });
}

/** Runs a command and prints its output live. @returns its duration, ms */
export async function runCommand(io: Io, client: MayflyClient, sandboxId: string): Promise<number> {
  const { signal } = io;
  io.print(io.paint('dim', `  $ mayfly run ${sandboxId} --command '${COMMAND}'`));
  const began = performance.now();
  const { id } = await client.commands.run(sandboxId, { command: COMMAND }, { waitSeconds: 0, signal });
  for await (const piece of client.commands.follow(sandboxId, id, { signal })) {
    if ('ended' in piece) {
      const { outcome, exitCode } = piece.ended;
      const took = performance.now() - began;
      io.print(`  ${outcome} with ${exitCode} after ${duration(took)}`);
      if (exitCode === 0) return took;
    } else {
      for (const line of Buffer.from(piece.bytes).toString().trimEnd().split('\n'))
        io.print(`    ${piece.stream}  ${printable(line)}`);
    }
  }
  throw new CliError(EXIT.failed, 'The command failed', `${id} in ${sandboxId}`, 'Run `bin/mayfly doctor`.');
}

function notRunning({ id, failure }: Sandbox): CliError {
  return new CliError(
    EXIT.failed,
    `${id} did not become usable`,
    failure ? `${failure.step}: ${failure.message}` : 'it was ended before it ran',
    'Run `bin/mayfly doctor`; on a machine without virtualisation use MAYFLY_HOST=simulated.',
  );
}
