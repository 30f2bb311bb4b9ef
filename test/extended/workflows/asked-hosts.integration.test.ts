import { describe, expect } from 'vitest';
import { type CandidateHosts, isPlaceable } from '../../../model/host.ts';
import { unprovenLayers } from '../../../model/sandbox/layers.ts';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import { eventually } from '../../support/eventually.ts';
import { GOLDEN } from '../../support/in-memory-host/machine.ts';
import { OtherHost } from '../../support/other-host.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test, alone, mayfly: all } = useSagaCases({ kind: 'in-memory' });

function first(hosts: readonly { hostId: string; installationId: string }[]): CandidateHosts {
  return { hosts: hosts.map(({ hostId, installationId }) => ({ hostId, installationId })) };
}

function lookers({ proof }: SandboxRecord): (string | undefined)[] {
  return [...new Set(proof?.observations.map(({ by }) => by?.installationId))];
}

describe.concurrent('a host that refuses after its reservation', () => {
  test.for(['host_unavailable', 'host_disk_full'])(
    'with %s is inspected, and keeps no residue',
    async (code, { mayfly }) => {
      const input = mayfly.input();
      mayfly.arm(`reserve.after=error(${code})`, input.id);
      const failed = await mayfly.end((await mayfly.create(input)).id);
      expect(failed).toMatchObject({ state: 'failed', hostId: null, failure: { code, step: 'reserve' } });
      expect(lookers(failed)).toEqual([all().machine().observer.installationId]);
      expect(failed.proof?.observations.map(({ lookedAt }) => lookedAt).join()).not.toContain('no host was ever');
      expect(await mayfly.residue()).toEqual([]);
      const { events } = await mayfly.client.workflow.getHandle(`sandbox/${input.id}`).fetchHistory();
      const names = events?.flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? []);
      if (code === 'host_disk_full') {
        expect(names).toEqual(['proposeHosts', 'prepare', 'releaseReservation', 'lookAgain']);
      }
    },
  );

  test('that was never a candidate needs no inspection: the record alone is the proof', async ({ mayfly }) => {
    const failed = await mayfly.end((await mayfly.create(mayfly.input({ source: 'nobody' }))).id);
    expect(failed).toMatchObject({ state: 'failed', askedHosts: [] });
    expect(failed.proof?.observations[0]?.lookedAt).toContain('no host was ever given this sandbox');
  });
});

alone(
  'a host that refuses and dies does not hold the create, and its promise is taken back when it returns',
  async ({ mayfly }) => {
    const other = await OtherHost.start(all(), 'other');
    const { observer } = all().machine();
    const input = { ...mayfly.input(), ...first([other, observer]) };
    const { installationId } = other;
    mayfly.arm('reserve.after=1*error(host_disk_full);releaseReservation.before=1000*error', input.id);
    const running = await mayfly.create(input);
    expect(running).toMatchObject({ state: 'running', hostId: 'test', installationId: observer.installationId });
    expect(running.askedHosts?.map(({ hostId }) => hostId)).toEqual(['other', 'test']);
    expect(await other.reservations()).toEqual([`${input.id}.json`]);
    await other.stop();
    mayfly.arm(undefined, input.id);

    await mayfly.sagas.sandboxes.destroy({ ...input, begin: 'destroy' }, { actor: input.createdBy });
    const waiting = await mayfly.until(input.id, ({ waitingFor }) => waitingFor !== null);
    expect(waiting).toMatchObject({
      state: 'destroying',
      proof: null,
      waitingFor: expect.stringContaining('host other'),
    });
    await other.start();
    const destroyed = await mayfly.end(input.id);
    expect(destroyed).toMatchObject({ state: 'destroyed', waitingFor: null });
    expect(lookers(destroyed)).toEqual([observer.installationId, installationId]);
    expect(await other.reservations()).toEqual([]);
  },
);

alone(
  'a host that refuses, dies and is forgotten ends nobody, holds nobody, and the end says that nobody looked there',
  async ({ mayfly }) => {
    const other = await OtherHost.start(all(), 'other');
    const { observer } = all().machine();
    const wish = () => ({ ...mayfly.input(), ...first([other, observer]) });
    const [ending, living] = [wish(), wish()];
    for (const { id } of [ending, living]) {
      mayfly.arm('reserve.after=1*error(host_disk_full);releaseReservation.before=1000*error', id);
    }
    await Promise.all([mayfly.create(ending), mayfly.create(living)]);
    await other.stop();
    for (const { id } of [ending, living]) mayfly.arm(undefined, id);
    const actor = ending.createdBy;
    await mayfly.sagas.sandboxes.destroy({ ...ending, begin: 'destroy' }, { actor });
    await mayfly.until(ending.id, ({ waitingFor }) => waitingFor !== null);

    await mayfly.sagas.hosts.forget({ hostId: 'other', actor, at: new Date().toISOString() });
    const unproved = {
      state: 'failed',
      hostId: 'test',
      failure: { code: 'host_forgotten' },
      waitingFor: null,
      proof: { unproved: 'unproved: other was forgotten, and nobody can look there' },
    };
    const ended = await mayfly.end(ending.id);
    expect(ended).toMatchObject(unproved);
    const seen = ended.proof?.observations.filter(({ absent }) => absent) ?? [];
    expect(unprovenLayers(seen)).toEqual([]);
    expect(new Set(seen.map(({ by }) => by?.installationId))).toEqual(new Set([observer.installationId]));
    await mayfly.sagas.hosts.forgotten('other', AbortSignal.timeout(60_000));
    expect(await mayfly.record(living.id)).toMatchObject({ state: 'running', stopReason: null });
    expect(await mayfly.destroy(living)).toMatchObject({ ...unproved, stopReason: 'deleted' });
  },
);

alone('a host that does not answer is passed over, and looked at in the end', async ({ mayfly }) => {
  const other = await OtherHost.start(all(), 'other');
  const input = { ...mayfly.input(), ...first([other]) };
  await other.stop();
  const running = await mayfly.create(input);
  expect(running).toMatchObject({ state: 'running', hostId: 'test', failure: null });
  await other.start();
  expect(lookers(await mayfly.destroy(input))).toHaveLength(2);
});

alone(
  'another machine of the same host id proves nothing: the end waits for the one that has the sandbox',
  async ({ mayfly }) => {
    const had = all().machine().installation.id;
    const input = { ...mayfly.input(), ...mayfly.proposals() };
    await mayfly.create(input);
    await expect(OtherHost.start(all(), 'test')).rejects.toMatchObject({ code: 'host_taken' });

    await mayfly.host?.stop();
    const other = await OtherHost.start(all(), 'test');
    await mayfly.sagas.sandboxes.destroy({ ...input, begin: 'destroy' }, { actor: input.createdBy });
    const waiting = await mayfly.until(input.id, ({ waitingFor }) => waitingFor !== null);
    expect(waiting).toMatchObject({ state: 'destroying', proof: null });
    expect(waiting.waitingFor).toContain('the host worker does not answer');
    await other.stop();
    await mayfly.startHost();
    const destroyed = await mayfly.end(input.id);
    expect(destroyed).toMatchObject({ state: 'destroyed' });
    expect(lookers(destroyed)).toEqual([had]);
  },
);

alone(
  'a source of one name and other disks on another host is refused there, and then everywhere',
  async ({ mayfly }) => {
    const other = await OtherHost.start(all(), 'third');
    const golden = { name: GOLDEN, cloneable: true };
    const content = (await all().machine().hypervisor.source(GOLDEN)).content ?? '';
    other.write(GOLDEN, 'etc/motd', 'otherwise');
    const differs = { state: 'failed', failure: { code: 'source_differs', step: 'cloneDisk' } };
    const created = await mayfly.create({ ...mayfly.input(), ...first([other]), content });
    expect(await mayfly.end(created.id)).toMatchObject(differs);
    expect(await other.reservations()).toEqual([]);

    await eventually(
      () => mayfly.store.hosts.get('third'),
      (host) => host?.sources.some((source) => source.content !== content) ?? false,
    );
    const hosts = (await mayfly.store.hosts.list()).filter((host) => isPlaceable(host));
    expect(hosts).toMatchObject([{ sources: [golden] }, { sources: [golden] }]);
    const refused = await mayfly.end((await mayfly.create()).id);
    expect(refused).toMatchObject({ state: 'failed', failure: { code: 'source_differs', step: 'proposeHosts' } });
  },
);

alone('two machines of one host id are two hosts: both are tried, and both are looked at', async ({ mayfly }) => {
  const before = await OtherHost.start(all(), 'twice');
  const first = { hostId: 'twice', installationId: before.installationId };
  await before.stop();
  const after = await OtherHost.start(all(), 'twice');
  const second = { hostId: 'twice', installationId: after.installationId };
  const input = { ...mayfly.input(), hosts: [first, second] };
  const running = await mayfly.create(input);
  expect(running).toMatchObject({ state: 'running', ...second, askedHosts: [first, second] });

  await mayfly.sagas.sandboxes.destroy({ ...input, begin: 'destroy' }, { actor: input.createdBy });
  const waiting = await mayfly.until(input.id, ({ waitingFor }) => waitingFor !== null);
  expect(waiting).toMatchObject({ proof: null, waitingFor: expect.stringContaining('lookAgain on host twice') });
  await after.stop();
  await before.start();
  const destroyed = await mayfly.end(input.id);
  expect(destroyed).toMatchObject({ state: 'destroyed', waitingFor: null });
  expect(lookers(destroyed)).toEqual([second.installationId, first.installationId]);
});
