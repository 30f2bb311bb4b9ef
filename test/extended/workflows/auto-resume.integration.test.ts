import { beforeAll, describe, expect } from 'vitest';
import { hibernated, kindsOf, refusalOf } from '../../support/hibernated.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { letSleep } from '../../support/sleeping-host.ts';

const { test, mayfly: all } = useSagaCases();
beforeAll(() => letSleep(all().machine().hypervisor, all().failpoints));

describe.concurrent('requests to a suspended sandbox', () => {
  test('are refused without autoResume', async ({ mayfly, operations }) => {
    const id = await hibernated(mayfly, operations, false);
    const command = await operations.door.call('POST', `/v1/sandboxes/${id}/commands`, { command: 'true' });
    const file = await operations.door.call('GET', `/v1/sandboxes/${id}/files/etc/hostname`);
    for (const response of [command, file]) {
      expect(await refusalOf(response)).toEqual([409, 'sandbox_suspended']);
    }
    expect(await mayfly.record(id)).toMatchObject({ state: 'hibernated' });
  });

  test('that arrive at once cause a single resume, and are all served', async ({ mayfly, operations }) => {
    const id = await hibernated(mayfly, operations, true);
    const { door } = operations;
    const commands = Array.from({ length: 4 }, (_, n) => door.run(id, { command: `echo ${n}` }));
    const files = Array.from({ length: 4 }, () => door.call('GET', `/v1/sandboxes/${id}/files/etc/hostname`));
    expect(await Promise.all((await Promise.all(commands)).map((one) => door.text(one)))).toEqual(
      ['0', '1', '2', '3'].map((text) => `${text}\n`),
    );
    for (const file of await Promise.all(files)) expect([file.status, await file.text()]).toEqual([200, `${id}\n`]);
    expect((await kindsOf(operations, id)).filter((kind) => kind === 'sandbox.resumed')).toHaveLength(1);
  });

  test('without a wait start a command that runs after the resume, from hibernated or paused', async ({
    mayfly,
    operations,
  }) => {
    for (const sleep of ['hibernate', 'pause'] as const) {
      const { id } = await mayfly.create(mayfly.input({ autoResume: true }));
      await operations[sleep](id);
      const command = await operations.door.run(id, { command: 'echo done' }, 0);
      const ended = await operations.door.ended(command);
      expect([ended.outcome, await operations.door.text(ended)]).toEqual(['exited', 'done\n']);
      expect(await mayfly.record(id)).toMatchObject({ state: 'running' });
    }
  });

  test('resume the sandbox even if the client disconnects', async ({ mayfly, operations }) => {
    const id = await hibernated(mayfly, operations, true);
    const path = `/v1/sandboxes/${id}/files/etc/hostname`;
    const left = await operations.door.call('GET', path, undefined, { Prefer: 'wait=0' });
    expect(await refusalOf(left)).toEqual([409, 'sandbox_not_running']);
    await mayfly.until(id, ({ state }) => state === 'running');
  });

  test('that write to the stdin of a suspended command resume the sandbox', async ({ mayfly, operations }) => {
    const { id } = await mayfly.create(mayfly.input({ autoResume: true }));
    const { door } = operations;
    const command = await door.run(id, { command: 'cat', stdinOpen: true }, 0);
    await door.until(command, ({ state }) => state === 'running');
    await operations.hibernate(id);
    const path = `/v1/sandboxes/${id}/commands/${command.id}/stdin?close=true`;
    expect((await door.call('POST', path, new TextEncoder().encode('hello'))).status).toBe(200);
    expect(await door.text(await door.ended(command))).toBe('hello');
  });

  test('that arrive during a hibernate cause one resume and start the command', async ({ mayfly, operations }) => {
    const { id } = await mayfly.create(mayfly.input({ autoResume: true }));
    mayfly.arm('hibernate.after=delay(1000)', id);
    const operationId = await operations.beginPause(id, 'hibernate');
    await operations.beganStep(id, 'hibernate');
    const command = await operations.door.run(id, { command: 'echo done' }, 0);
    expect(await operations.ended(id, operationId)).toBeNull();
    expect(await operations.door.ended(command)).toMatchObject({ outcome: 'exited' });
    expect((await kindsOf(operations, id)).filter((kind) => /hibernated|resumed/.test(kind))).toHaveLength(2);
  });

  test('can change autoResume', async ({ mayfly, operations }) => {
    const id = await hibernated(mayfly, operations, false);
    const patched = await operations.door.call('PATCH', `/v1/sandboxes/${id}`, { autoResume: true });
    expect(await patched.json()).toMatchObject({ state: 'hibernated', spec: { autoResume: true } });
    expect(await operations.sh(id, 'echo here')).toBe('here\n');
  });
});
