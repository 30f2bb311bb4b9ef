import type { Sandbox } from '../clients/typescript/http/openapi.ts';
import { type Bench, createRunning, destroy, SMALL_MIB } from './support/bench.ts';
import { type Figures, round, Samples, type Spread } from './support/measure.ts';
import { ownSeconds } from './support/processes.ts';

/** Concurrent creates on a simulated host. */
export const BURST = { quick: 10, full: 50 };

/** Measures whole lives through the API: a caller's waits, and each step that the workflow records. */
export async function measureCreates(bench: Bench): Promise<Figures> {
  const samples = new Samples();
  let seconds = 0;
  await samples.rounds(bench, async (counted) => {
    const before = await ownSeconds();
    const { id, steps } = await counted.time('create', () => createRunning(bench));
    if (counted === samples) seconds += (await ownSeconds()) - before;
    for (const { step, startedAt, endedAt } of steps) counted.add(step, Date.parse(endedAt) - Date.parse(startedAt));
    await counted.time('destroy', () => destroy(bench, id));
  });
  const lines = [`${round(seconds / bench.runs)} s of processor time a create`];
  if (bench.isSimulated) lines.push(await measureBurst(bench));
  const spreads = samples.spreads();
  const direct = bench.parts['direct']?.spreads;
  if (!direct) return { spreads, lines };
  const { wholeMs, perStepMs, steps } = sagaCost(direct, spreads);
  const cost = `durability costs ${wholeMs} ms a create, ${perStepMs} ms a step (${steps} steps; medians of this run)`;
  const beside = ['create', 'destroy'].flatMap((name) => {
    const spread = direct[name];
    return spread ? [[`its steps alone: ${name}`, spread] as const] : [];
  });
  const pairs = [
    { what: 'create', ours: 'create', beside: 'its steps alone: create' },
    { what: 'destroy, with its proof', ours: 'destroy', beside: 'its steps alone: destroy' },
  ];
  return { spreads: { ...spreads, ...Object.fromEntries(beside) }, pairs, lines: [cost, ...lines] };
}

/** Computes the cost of durability in the median of a whole create: workflow minus the same steps called directly. */
export function sagaCost(direct: Record<string, Spread>, saga: Record<string, Spread>) {
  const [plain, durable] = [direct['create'], saga['create']];
  if (!plain || !durable) throw new RangeError('a whole create was not measured');
  const steps = Object.keys(direct).filter((name) => name in saga && name !== 'create' && name !== 'destroy').length;
  const wholeMs = round(durable.medianMs - plain.medianMs);
  return { wholeMs, perStepMs: round(wholeMs / steps), steps };
}

async function measureBurst(bench: Bench): Promise<string> {
  const count = bench.isQuick ? BURST.quick : BURST.full;
  let created: Sandbox[] = [];
  return burstLine(
    count,
    async () => {
      created = await Promise.all(Array.from({ length: count }, () => createRunning(bench, { memoryMib: SMALL_MIB })));
    },
    () => Promise.all(created.map(({ id }) => destroy(bench, id))),
  );
}

/** Times concurrent creates until the last runs, and destroys until the last has ended. */
export async function burstLine(
  count: number,
  create: () => Promise<unknown>,
  end: () => Promise<unknown>,
): Promise<string> {
  const samples = new Samples();
  await samples.time('create', create);
  await samples.time('destroy', end);
  const { create: made, destroy: gone } = samples.spreads();
  const perSecond = (spread?: Spread) => round((1_000 * count) / (spread?.medianMs ?? Number.NaN));
  return `${count} at once: ${perSecond(made)} creates/s, ${perSecond(gone)} destroys/s`;
}
