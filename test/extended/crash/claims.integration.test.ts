import { afterAll, beforeAll, expect } from 'vitest';
import type { Sandbox } from '../../../clients/typescript/http/openapi.ts';
import { MayflyApiError } from '../../../clients/typescript/http/problem.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { Agreement } from '../../crash/agreement.ts';
import { ask, WAIT } from '../../crash/asking.ts';
import { withoutPool } from '../../crash/clearing.ts';
import { CrashInstallation } from '../../crash/installation.ts';
import { SeededRandom } from '../../crash/random.ts';
import { eventually } from '../../support/eventually.ts';
import { delayFault } from '../../support/passage-of-time.ts';
import { seed, sweep } from '../../support/sweep.ts';
import { useFolder } from '../../support/use-folder.ts';

const CLAIMS = 100;
/** Concurrent callers: each creates, polls and destroys a sandbox, in a loop. */
const CALLERS = 6;
const MEMBERS = 4;
const WISH = { source: 'golden-debian12', memoryMib: 64 };
/** Number of answers between two kills, for any speed of the machine. */
const ANSWERS_A_KILL = 4;
const POOL = 'web';
const PARTS = ['api', 'control', 'host'] as const;

const root = useFolder();
let mayfly: CrashInstallation;
let agreement: Agreement;

beforeAll(async () => {
  mayfly = new CrashInstallation({ root, hostKind: 'simulated' });
  await mayfly.start();
  agreement = await Agreement.open(mayfly, [{ stateDir: mayfly.hostDir(), libvirtUri: null }]);
});
afterAll(async () => {
  await agreement?.close();
  await mayfly?.stop();
});

/** Serves one caller despite kills; null when its create has failed. */
async function served(): Promise<Sandbox | null> {
  const { client } = mayfly;
  try {
    const told = await ask((options) => client.createSandbox(WISH, options));
    return await eventually(
      () => ask(() => client.getSandbox(told.id)),
      ({ state }) => state === 'running' || isFinal(state),
    );
  } catch (error) {
    if (error instanceof MayflyApiError && error.problem.sandboxId !== undefined) return null;
    throw error;
  }
}

async function destroyed(id: string): Promise<void> {
  for (;;) if (isFinal((await ask(() => mayfly.client.destroySandbox(id, WAIT))).state)) return;
}

/** Kills a random process after a moment, and restarts it. */
async function strike(random: SeededRandom): Promise<void> {
  await delayFault(random.below(500));
  const part = mayfly.parts[PARTS[random.below(PARTS.length)] ?? 'api'];
  await part.down();
  await delayFault(random.below(1_000));
  part.up();
}

sweep([1, 2])(
  `${CLAIMS} claims of a pool of ${MEMBERS} under kills of the API, the control worker and the host, drawn from seed %s`,
  async (nth) => {
    const { client } = mayfly;
    await ask(() => client.pools.set(POOL, { ...WISH, min: MEMBERS, max: MEMBERS }));
    const pool = () => ask(() => client.pools.get(POOL));
    await eventually(pool, ({ members }) => members.filter(({ state }) => state === 'warm').length === MEMBERS);

    const random = new SeededRandom(seed(), `kills of claims, ${nth}`);
    const answers: (Sandbox | null)[] = [];
    let striking = Promise.resolve();
    let asked = 0;
    const caller = async () => {
      while (asked++ < CLAIMS) {
        const record = await served();
        answers.push(record);
        if (answers.length % ANSWERS_A_KILL === 0) striking = striking.then(() => strike(random));
        if (record) await destroyed(record.id);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    await striking;
    await mayfly.ready();

    const had = answers.filter((record) => record !== null);
    expect(answers).toHaveLength(CLAIMS);
    expect(new Set(had.map(({ id }) => id)).size).toBe(had.length);
    expect(had.filter(({ boot }) => boot?.way === 'warm').length).toBeGreaterThan(0);
    const warm = had.filter(({ boot }) => boot?.way === 'warm').length;
    process.stdout.write(`${warm} claimed, ${had.length - warm} made, ${CLAIMS - had.length} told why not\n`);
    await withoutPool(client, POOL);
    await agreement.holds('nothing', 120_000);
  },
  1_800_000,
);
