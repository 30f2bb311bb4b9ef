import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { isPlaybookOver } from '../../../model/playbook/playbook.ts';
import { playbookWorkflowIdOf } from '../../../model/playbook/playbook-saga.ts';
import { CONTROL_QUEUE } from '../../../model/sagas/queues.ts';
import { RECONCILER } from '../../../model/sagas/reconcile.ts';
import { giveAnsible } from '../../support/ansible.ts';
import { useTestDoor } from '../../support/door.ts';
import { INTERVENTIONS, intervene } from '../../support/interventions.ts';
import { TestPlaybooks } from '../../support/playbooks.ts';
import { reconcileOnce } from '../../support/reconcile-once.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { sweepOn } from '../../support/sweep.ts';
import { useFolder } from '../../support/use-folder.ts';

/**
 * Playbooks of process trees, which have no packages. A program that does nothing or never ends replaces Ansible:
 * worker/playbook.e2e tests the effects of a playbook.
 */
const { alone, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const folder = useFolder();

const test = alone.extend<{ playbooks: TestPlaybooks }>({
  playbooks: async ({ mayfly }, use) => {
    await use(new TestPlaybooks(mayfly, door));
    giveAnsible(null);
  },
});

async function ansibleThat(script: string): Promise<void> {
  execFileSync('mkdir', ['-p', join(folder, 'ansible')]);
  await writeFile(join(folder, 'ansible/python'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const archive = join(folder, 'ansible.tar.gz');
  execFileSync('tar', ['-czf', archive, '-C', folder, 'ansible']);
  giveAnsible({ archive, version: '2.14.0' });
}

const SECRET = `-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----`;
const CHANGE = `rm README; mkdir deep; printf '{{ 1 }}\\377' > 'deep/{{ x }}'; ln -s deep link; echo '${SECRET}' > key`;

test('is written from the changes, unchecked without Ansible (case 4), and contains no secret (case 9)', async ({
  mayfly,
  operations,
  playbooks,
}) => {
  const { id } = await mayfly.create(mayfly.input({}));
  await operations.sh(id, CHANGE);
  const written = await playbooks.write(id);
  expect(written).toMatchObject({
    state: 'unchecked',
    failure: null,
    unchecked: expect.stringContaining('Ansible is not on its host'),
    written: { paths: 5, tasks: 5, left: [], variables: [{ of: '/home/sandbox/key' }] },
  });
  const files = await playbooks.files(written);
  expect(Object.keys(files)).toEqual(['playbook.yml', 'vars.example.yml', 'files/0001', 'report.md']);
  expect(files['files/0001']?.toString('latin1')).toBe('{{ 1 }}\xff');
  expect(files['playbook.yml']?.toString()).toContain('dest: !unsafe "/home/sandbox/deep/{{ x }}"');
  expect(files['report.md']?.toString()).toContain('Not checked');
  expect(JSON.stringify([written, Object.values(files).map(String)])).not.toContain('c2VjcmV0');
  expect(await mayfly.record(written.checkerId)).toMatchObject({ state: 'destroyed', failure: null });
  const { items } = await mayfly.store.snapshots.list({ sandboxId: id, limit: 10 });
  expect(items).toEqual([]);
  const said = (await operations.told(id)).filter(({ kind }) => kind.startsWith('playbook.'));
  expect(said).toMatchObject([
    { kind: 'playbook.requested', detail: { playbookId: written.id, checkerId: written.checkerId } },
    { kind: 'playbook.ended', detail: { playbookId: written.id, state: 'unchecked' } },
  ]);
});

test('without changes has no tasks (case 8)', async ({ mayfly, playbooks }) => {
  const { id } = await mayfly.create(mayfly.input({}));
  expect(await playbooks.write(id)).toMatchObject({
    state: 'unchecked',
    written: { paths: 0, tasks: 0, leftCount: 0 },
  });
});

test('lists changes it does not reproduce, and reports a failed task', async ({ mayfly, operations, playbooks }) => {
  const { id } = await mayfly.create(mayfly.input({}));
  await operations.sh(id, 'echo one > one');
  await ansibleThat(`echo '{"changed": 0, "failed": 0, "message": null}'`);
  const checked = await playbooks.write(id);
  expect(checked).toMatchObject({
    state: 'checked',
    check: {
      runs: [{}, { changed: 0 }],
      broughtAbout: 0,
      paths: 1,
      left: [{ path: '/home/sandbox/one', why: 'it is not there' }],
    },
  });
  await ansibleThat(`echo '{"changed": 0, "failed": 1, "message": "Install: no network"}'; exit 2`);
  expect(await playbooks.write(id)).toMatchObject({
    state: 'unchecked',
    unchecked: expect.stringContaining('Install: no network'),
  });
});

test('is cancelled during its check, refuses callers there, and leaves no residue', async ({ mayfly, playbooks }) => {
  const { id } = await mayfly.create(mayfly.input({}));
  await ansibleThat('sleep 1000 & sleep 1000');
  const begun = await playbooks.begin(id);
  await playbooks.tried(begun);
  const answer = await door.call('POST', `/v1/sandboxes/${begun.checkerId}/commands`, { command: 'true' });
  expect(answer.headers.get('X-Mayfly-Code')).toBe('sandbox_not_running');
  expect((await door.call('POST', `/v1/playbooks/${begun.id}/cancel`)).status).toBe(202);
  expect(await playbooks.over(begun)).toMatchObject({ state: 'cancelled', failure: null });
  expect(await mayfly.record(begun.checkerId)).toMatchObject({ state: 'destroyed' });
});

sweepOn(test)(INTERVENTIONS)('ends in order during its check: %s', async (kind, { mayfly, playbooks }) => {
  const { id } = await mayfly.create(mayfly.input({}));
  await ansibleThat('sleep 1000');
  const begun = await playbooks.begin(id);
  await playbooks.tried(begun);
  await intervene(mayfly.client, playbookWorkflowIdOf(begun.id), kind);
  if (kind === 'terminate') await reconcileOnce(mayfly.client);
  if (kind.startsWith('reset')) {
    expect((await door.call('POST', `/v1/playbooks/${begun.id}/cancel`)).status).toBe(202);
  }
  const failure = kind === 'terminate' ? { code: 'playbook_failed' } : null;
  expect(await playbooks.over(begun)).toMatchObject({ state: failure ? 'failed' : 'cancelled', failure });
  expect(await mayfly.record(begun.checkerId)).toMatchObject({ state: 'destroyed' });
});

test('continues after both workers restart during its check (case 10)', async ({ mayfly, operations, playbooks }) => {
  const { id } = await mayfly.create(mayfly.input({}));
  await operations.sh(id, 'echo one > one');
  await ansibleThat(`sleep 3; echo '{"changed": 0, "failed": 0, "message": null}'`);
  const begun = await playbooks.begin(id);
  await playbooks.tried(begun);
  await all().startControl();
  await mayfly.host?.stop();
  await mayfly.startHost();
  expect(await playbooks.over(begun)).toMatchObject({ state: 'checked', failure: null, check: { paths: 1 } });
  expect(await mayfly.record(begun.checkerId)).toMatchObject({ state: 'destroyed' });
});

test('fails without residue when its workflow is lost', async ({ mayfly, operations, playbooks }) => {
  const { id } = await mayfly.create(mayfly.input({}));
  await operations.sh(id, 'echo one > one');
  await ansibleThat('sleep 1000');
  const begun = await playbooks.begin(id);
  await playbooks.tried(begun);
  await all().client.workflow.getHandle(playbookWorkflowIdOf(begun.id)).terminate('lost by a test');
  for (let rounds = 0; !isPlaybookOver((await playbooks.get(begun.id)).state); rounds++) {
    if (rounds > 100) throw new Error('it is never said to have failed');
    const workflowId = `reconcile-${begun.id}-${rounds}`;
    const options = { workflowId, taskQueue: CONTROL_QUEUE, args: [{ graceMs: 100 }] };
    await all().client.workflow.execute('reconcileOnce', options);
  }
  expect(await playbooks.get(begun.id)).toMatchObject({ waitingFor: null, failure: { code: 'playbook_failed' } });
  expect(await mayfly.record(begun.checkerId)).toMatchObject({ state: 'destroyed' });
  const said = (await operations.told(id)).filter(({ kind }) => kind === 'playbook.ended');
  expect(said).toMatchObject([{ actor: RECONCILER, detail: { state: 'failed' } }]);
});

test('fails at once when its host is decommissioned, not at its timeout', async ({ mayfly, playbooks }) => {
  const input = mayfly.input({});
  const { id, createdBy: actor } = await mayfly.create(input);
  await ansibleThat('sleep 1000');
  const begun = await playbooks.begin(id);
  await playbooks.tried(begun);
  await mayfly.host?.stop();
  await all().sagas.hosts.forget({ hostId: 'test', actor, at: new Date().toISOString() });
  await all().sagas.hosts.forgotten('test', AbortSignal.timeout(60_000));
  expect(await playbooks.get(begun.id)).toMatchObject({ state: 'failed', failure: { code: 'host_forgotten' } });
  await mayfly.startHost();
  const options = { workflowId: `reconcile-${begun.id}`, taskQueue: CONTROL_QUEUE, args: [{ graceMs: 100 }] };
  await all().client.workflow.execute('reconcileOnce', options);
  await mayfly.until(begun.checkerId, ({ proof }) => proof !== null && proof.unproved === undefined);
  // Snapshots of a decommissioned host have no owner, and stay when it returns.
  const { snapshots } = all().machine().hypervisor;
  for (const { snapshotId } of await snapshots.list()) await snapshots.remove(snapshotId);
});
