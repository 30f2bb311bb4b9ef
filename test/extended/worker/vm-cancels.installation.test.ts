import { expect, test } from 'vitest';
import { SeededRandom } from '../../crash/random.ts';
import { expectProof } from '../../support/expect-proof.ts';
import { SOURCE, useLibvirtInstallation, WAIT } from '../../support/libvirt-installation.ts';
import { delayFault } from '../../support/passage-of-time.ts';

const { mayfly, inspect, bootedSnapshot } = useLibvirtInstallation();
const STARTS = Number(process.env['MAYFLY_CANCELLED_STARTS'] ?? 12);
const AT_ONCE = 2;
/** Approximate duration of a start on a quiet machine, ms. */
const BOOT_MS = 12_000;
const WAKE_MS = 3_000;

test(`${STARTS} starts that are cancelled at random moments leave nothing`, { timeout: 1_100_000 }, async () => {
  const random = new SeededRandom(process.env['MAYFLY_TEST_SEED'] ?? 'mayfly', 'cancels');
  const snapshotId = await bootedSnapshot();
  const moments = Array.from({ length: STARTS }, () =>
    random.below(2) === 0
      ? { from: { source: SOURCE }, afterMs: random.below(BOOT_MS) }
      : { from: { snapshotId }, afterMs: random.below(WAKE_MS) },
  );
  const phases = new Map<string, number>();
  const cancelNext = async (): Promise<void> => {
    for (let moment = moments.pop(); moment; moment = moments.pop()) {
      const { id } = await mayfly.createSandbox(moment.from, { waitSeconds: 0 });
      await delayFault(moment.afterMs);
      const { state, phase } = await mayfly.getSandbox(id);
      phases.set(phase ?? state, (phases.get(phase ?? state) ?? 0) + 1);
      const ended = await mayfly.destroySandbox(id, WAIT);
      expectProof(ended);
      expect(ended).toMatchObject({ id, state: 'destroyed', stopReason: 'deleted' });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, cancelNext));
  process.stderr.write(`cancelled at ${JSON.stringify(Object.fromEntries(phases))}\n`);
  expect(await inspect()).toEqual({ domains: new Set([SOURCE]), leases: [], workspaces: [], credentials: [] });
});
