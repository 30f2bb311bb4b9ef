import { expect, test } from 'vitest';
import { imageIdFrom, playbookIdFrom, snapshotIdFrom } from '../../model/ids.ts';
import type { Store } from '../../store/connect.ts';
import { useStore } from '../support/use-store.ts';
import { imageRecord, playbookRecord } from './support.ts';

/** Guards: the end of a build or playbook is final, and each is on one page of its project's list. Costs 2 s. */
const idOf = (make: (bytes: Uint8Array) => string, n: number) => make(new Uint8Array(10).fill(n));
const at = (n: number) => new Date(n).toISOString();
const ended = { state: 'ready', readyAt: at(9), updatedAt: at(9) } as const;

let store: Store;
useStore((opened) => ({ store } = opened));

test('an update after the end is ignored; one of an unknown id is an error', async () => {
  const image = imageRecord({ id: idOf(imageIdFrom, 1), state: 'finishing' });
  const playbook = playbookRecord({ id: idOf(playbookIdFrom, 1), state: 'checking' });
  await store.images.create(image);
  await store.playbooks.create(playbook);
  await store.images.update(image.id, ended);
  await store.playbooks.update(playbook.id, { state: 'checked', endedAt: at(9) });
  await store.images.update(image.id, { state: 'failed', waitingFor: 'nothing' });
  await store.playbooks.update(playbook.id, { state: 'failed', endedAt: at(10) });
  expect(await store.images.get(image.id)).toEqual({ ...image, ...ended });
  expect(await store.playbooks.get(playbook.id)).toEqual({ ...playbook, state: 'checked', endedAt: at(9) });
  await expect(store.images.update(idOf(imageIdFrom, 2), ended)).rejects.toMatchObject({ code: 'image_not_found' });
  const none = store.playbooks.update(idOf(playbookIdFrom, 2), { state: 'failed' });
  await expect(none).rejects.toMatchObject({ code: 'playbook_not_found' });
});

test('pages have each task once, newest first, also for equal times, and refuse a cursor of another list', async () => {
  const project = 'pages';
  for (const n of [11, 12, 13, 14, 15]) {
    const createdAt = at(Math.min(n, 13));
    await store.images.create(imageRecord({ id: idOf(imageIdFrom, n), project, createdAt }));
    await store.playbooks.create(playbookRecord({ id: idOf(playbookIdFrom, n), project, createdAt }));
  }
  for (const [list, make, other] of [
    [store.images, imageIdFrom, playbookIdFrom],
    [store.playbooks, playbookIdFrom, imageIdFrom],
  ] as const) {
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { items: { id: string }[]; nextCursor: string | null } = await list.list({
        project,
        limit: 2,
        ...(cursor !== null && { cursor }),
      });
      ids.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(ids).toEqual([15, 14, 13, 12, 11].map((n) => idOf(make, n)));
    const foreign = Buffer.from(`${at(13)} ${idOf(other, 13)}`).toString('base64url');
    await expect(list.list({ project, limit: 2, cursor: foreign })).rejects.toMatchObject({ code: 'invalid_request' });
  }
});

test('the image of a snapshot is found behind others of its name, but none of another project and no failed one', async () => {
  const [project, name] = ['named', 'wanted'];
  const snapshotId = snapshotIdFrom(new Uint8Array(10).fill(21));
  const is = { project, name, state: 'ready', snapshotId } as const;
  const wanted = imageRecord({ id: idOf(imageIdFrom, 21), ...is, createdAt: at(1) });
  await store.images.create(wanted);
  const others = [{ project: 'default' }, { name: 'other' }, { state: 'failed' }, { snapshotId: null }] as const;
  for (const [n, other] of others.entries()) {
    await store.images.create(imageRecord({ id: idOf(imageIdFrom, 31 + n), createdAt: at(2), ...is, ...other }));
  }
  expect(await store.images.ready(project, name, snapshotId)).toEqual(wanted);
  expect(await store.images.ready(project, 'none', snapshotId)).toBeNull();
});
