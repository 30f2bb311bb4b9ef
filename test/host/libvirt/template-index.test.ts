import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TemplateIndex } from '../../../host/libvirt/template/template-index.ts';
import { snapshotId } from '../../store/support.ts';
import { temporaryState } from '../temporary-state.ts';

const KEY = 'a'.repeat(64);
const savedAt = '2026-11-23T17:00:00.000Z';
const [first, second] = [1, 2].map((n) => ({ key: KEY, templateId: snapshotId(n), savedAt })) as [Saved, Saved];
interface Saved {
  key: string;
  templateId: string;
  savedAt: string;
}
let file: string;
let remove: () => Promise<void>;

beforeEach(async () => {
  const made = await temporaryState();
  file = made.state.templates;
  remove = made.remove;
});
afterEach(() => remove());

const readyId = async (index: TemplateIndex) => (await index.ready(KEY))?.templateId ?? null;

test('the newest template of a key is used, also by a new worker', async () => {
  const index = new TemplateIndex(file);
  expect(await readyId(index)).toBeNull();
  await index.put(first);
  await index.put(first);
  await index.put(second);
  expect(await readyId(new TemplateIndex(file))).toBe(second.templateId);
  await index.drop(second.templateId);
  expect(await readyId(index)).toBeNull();
  expect((await index.uses()).map(({ templateId, isReady }) => [templateId, isReady])).toEqual([
    [first.templateId, false],
  ]);
});

test('three consecutive failures retire a template, and changed memory does at once', async () => {
  const index = new TemplateIndex(file);
  const { templateId } = first;
  await index.put(first);
  const fail = (isSpoiled = false) => index.failed(templateId, 'no\nanswer\u001b[2J', isSpoiled);
  await Promise.all([fail(), fail()]);
  await index.woke(templateId);
  await Promise.all([fail(), fail()]);
  expect(await readyId(index)).toBe(templateId);
  await fail();
  expect(await readyId(index)).toBeNull();
  expect(await index.uses()).toMatchObject([{ wakes: 1, failuresInARow: 3, lastFailure: 'no answer [2J' }]);
  await index.put(second);
  await index.failed(second.templateId, 'flipped', true);
  expect(await readyId(index)).toBeNull();
  await index.failed(snapshotId(9), 'of none', true);
});

test('an unreadable index counts as empty, and is rewritten', async () => {
  const index = new TemplateIndex(file);
  for (const text of ['', '[{"key":', '[{"of":"another version"}]']) {
    await writeFile(file, text);
    expect(await readyId(index)).toBeNull();
    expect(await index.uses()).toEqual([]);
  }
  await index.put(first);
  expect(await readyId(index)).toBe(first.templateId);
});
