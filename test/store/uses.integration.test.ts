import { expect, it } from 'vitest';
import type { Store } from '../../store/connect.ts';
import { useStore } from '../support/use-store.ts';
import { sandboxId } from './support.ts';

let store: Store;
useStore((opened) => ({ store } = opened));

it('a sandbox without activity has no last use', async () => {
  expect(await store.activity.get(sandboxId(1))).toEqual({ usedAt: 0, openCommands: [] });
});

it('touches are stored, at most one per second', async () => {
  const before = Date.now();
  await store.activity.touch(sandboxId(2));
  const { usedAt } = await store.activity.get(sandboxId(2));
  expect(usedAt).toBeGreaterThanOrEqual(before);
  await store.activity.touch(sandboxId(2));
  expect(await store.activity.get(sandboxId(2))).toEqual({ usedAt, openCommands: [] });
});

it('concurrent opens and closes count each command once', async () => {
  const ids = Array.from({ length: 40 }, (_, n) => `cmd-${String(n).padStart(16, '0')}`);
  await Promise.all([...ids, ...ids].map((id) => store.activity.openCommand(sandboxId(3), id)));
  expect((await store.activity.get(sandboxId(3))).openCommands.sort()).toEqual(ids);
  expect((await store.activity.openCommands()).map(({ commandId }) => commandId).sort()).toEqual(ids);
  await Promise.all(ids.slice(1).map((id) => store.activity.closeCommand(sandboxId(3), id)));
  const use = await store.activity.get(sandboxId(3));
  expect(use.openCommands).toEqual(ids.slice(0, 1));
  expect(use.usedAt).toBeGreaterThan(0);
});

it('open commands are found again after there were none', async () => {
  const [id, open] = [sandboxId(4), { sandboxId: sandboxId(4), commandId: 'cmd-0000000000000400' }];
  const found = async () => (await store.activity.openCommands()).filter((one) => one.sandboxId === id);
  await store.activity.openCommand(id, open.commandId);
  expect(await found()).toEqual([open]);
  await store.activity.closeCommand(id, open.commandId);
  expect(await found()).toEqual([]);
  expect(await found()).toEqual([]);
  await store.activity.openCommand(id, open.commandId);
  expect(await found()).toEqual([open]);
});
