import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { qemusOf } from '../../support/qemu-of.ts';
import { useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

/** Timeout of a test, ms: two minutes on two idle cores, many without KVM beside other work. */
const LONGEST_MS = 1_200_000;
const mayfly = useServedOnLibvirt();

/** Waits until the machine of a run is hibernated, or the run has ended. */
async function untilAsleep(id: string) {
  const { client } = mayfly();
  const look = async () => {
    const { state, waiting, attempts } = await client.runs.get(id);
    const sandboxId = attempts[0]?.sandboxId ?? '';
    const isOff = waiting?.hibernatedAt != null && (await client.getSandbox(sandboxId)).state === 'hibernated';
    return { sandboxId, isOff, state, failure: waiting?.failure };
  };
  return eventually(look, ({ isOff, state }) => isOff || state === 'ended', LONGEST_MS);
}

test(
  'a waiting process uses no virtual machine, and continues with its counter and the data (case 56)',
  async () => {
    const { client, cliEnv } = mayfly();
    const command = [
      'n=0; while [ $n -lt 41 ]; do n=$((n+1)); done; cat /proc/sys/kernel/random/boot_id',
      'data=$("$MAYFLY_WAIT" approval --timeout 3000)',
      'n=$((n+1)); echo "$n $data"; date +%s; cat /proc/sys/kernel/random/boot_id',
    ].join('\n');
    await client.functions.deploy('asks', {
      source: 'golden-debian12',
      command,
      wait: { hibernateAfterSeconds: 1, time: 'stops' },
    });
    const { id } = await client.runs.create('asks', {});
    const asleep = await untilAsleep(id);
    expect(asleep).toMatchObject({ isOff: true, state: 'running' });
    expect(await qemusOf(asleep.sandboxId)).toEqual([]);
    const { MAYFLY_URL: base = '' } = cliEnv;
    const waitpoint = await client.waitpoints.create(id, { name: 'approval' });
    const completed = await fetch(`${base}${waitpoint.path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ data: { ok: true } }),
    });
    expect(completed.status).toBe(200);
    const over = await client.runs.ended(id);
    const said = await text((await client.runs.output(id)).bytes);
    expect(over, said).toMatchObject({ outcome: 'succeeded', cleanup: 'proved', attempts: [{ n: 1 }] });
    const [boot, counted, seconds, sameBoot] = said.trim().split('\n');
    expect(counted).toBe('42 {"ok":true}');
    expect(sameBoot).toBe(boot);
    expect(Math.abs(Number(seconds) - Date.parse(over.endedAt ?? '') / 1_000)).toBeLessThan(60);
    expect(await qemusOf(asleep.sandboxId)).toEqual([]);

    const other = await client.runs.create('asks', {});
    const cancelled = await untilAsleep(other.id);
    expect(cancelled).toMatchObject({ isOff: true });
    await client.runs.cancel(other.id);
    expect(await client.runs.ended(other.id)).toMatchObject({ outcome: 'cancelled', cleanup: 'proved' });
    // the proof of the domain covers a saved memory
    expect(await client.getSandbox(cancelled.sandboxId)).toMatchObject({
      state: 'destroyed',
      proof: { observations: expect.arrayContaining([expect.objectContaining({ layer: 'domain', absent: true })]) },
    });
  },
  LONGEST_MS,
);
