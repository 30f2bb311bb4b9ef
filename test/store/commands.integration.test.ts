import { describe, expect, it } from 'vitest';
import type { Store } from '../../store/connect.ts';
import { useStore } from '../support/use-store.ts';
import { command, commandId, sandboxId } from './support.ts';

let store: Store;
useStore((opened) => ({ store } = opened));

describe('records of commands', () => {
  it('are stored unchanged, and updated field by field', async () => {
    const full = command(1, { spec: { ...command(1).spec, command: null, argv: ['a', '', '$x'], envNames: ['A'] } });
    await store.commands.create(full);
    expect(await store.commands.get(full.id)).toEqual(full);
    const ended = {
      state: 'ended',
      outcome: 'not-started',
      failure: { code: 'command_refused', message: 'no' },
      stdout: { bytes: 9, kept: 5 },
    } as const;
    await store.commands.update(full.id, ended);
    expect(await store.commands.get(full.id)).toEqual({ ...full, ...ended });
  });

  it('are not replaced by a repeated request', async () => {
    await store.commands.create(command(2));
    await store.commands.update(commandId(2), { state: 'running' });
    await store.commands.create(command(2));
    expect(await store.commands.get(commandId(2))).toMatchObject({ state: 'running' });
  });

  it('that are missing are reported', async () => {
    expect(await store.commands.get(commandId(3))).toBeNull();
    await expect(store.commands.update(commandId(3), { state: 'running' })).rejects.toMatchObject({
      code: 'command_not_found',
    });
    await expect(store.commands.get('../x')).rejects.toMatchObject({ code: 'invalid_id' });
  });

  it('are listed by sandbox, newest first, a page at a time', async () => {
    const sandbox = { sandboxId: sandboxId(7) };
    for (let n = 10; n < 15; n++) await store.commands.create(command(n, sandbox));
    const first = await store.commands.list({ ...sandbox, limit: 3 });
    expect(first.items.map(({ id }) => id)).toEqual([14, 13, 12].map(commandId));
    const rest = await store.commands.list({ ...sandbox, limit: 3, cursor: first.nextCursor ?? '' });
    expect(rest.items.map(({ id }) => id)).toEqual([11, 10].map(commandId));
    expect(rest.nextCursor).toBeNull();
  });
});

it('the inputs of a command are stored unchanged, once, until they are removed', async () => {
  const inputs = { env: { A: '1', B: '$(x)\n"\u0001' }, stdin: Buffer.from([0, 255, 128]) };
  await store.commandInputs.keep(commandId(1), inputs);
  await store.commandInputs.keep(commandId(1), { env: {}, stdin: new Uint8Array() });
  const kept = await store.commandInputs.get(commandId(1));
  expect(kept?.env).toEqual(inputs.env);
  expect(Buffer.from(kept?.stdin ?? [])).toEqual(inputs.stdin);
  await store.commandInputs.remove(commandId(1));
  expect(await store.commandInputs.get(commandId(1))).toBeNull();
});
