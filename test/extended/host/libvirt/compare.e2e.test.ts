import { gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import type { FileChange, FileChangeRecord } from '../../../../model/files/file-change.ts';
import { asLogged, latin1 } from '../../../host/compared/as-logged.ts';
import { copyOf, differences } from '../../../host/compared/logged-tree.ts';
import { RandomOperations, randomOf } from '../../../host/compared/random-operations.ts';
import { LivingGuest, stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { seedOf } from '../../../support/sweep.ts';

const ROOT = '/srv/tree';
const OPERATIONS = 100;
const SEED = seedOf('compared operations');

const machine = useMachine();
let guest: LivingGuest;

beforeAll(async () => {
  guest = await LivingGuest.wake(machine());
});

const save = async () => (await guest.save())[0];

/** Runs operations. @param program in Perl, whose last line counts the operations */
async function perform(program: string): Promise<void> {
  const packed = gzipSync(program).toString('base64');
  expect(await guest.run(`echo ${packed} | base64 -d | gunzip | sudo perl`)).toMatch(/^\d+ done$/);
}

async function compared(before: string, after: string, within: string[]): Promise<FileChange[]> {
  const records: FileChangeRecord[] = [];
  for await (const record of machine().host.snapshots.compare({ before, after, within }, stepContext().signal)) {
    records.push(record);
  }
  const changes = records.flatMap((record) => (record.line === 'change' ? [record] : []));
  const count = (kind: string) => changes.filter(({ change }) => change === kind).length;
  const [added, changed, removed, renamed] = ['added', 'changed', 'removed', 'renamed'].map(count);
  expect(records.at(-1)).toEqual({ line: 'end', added, changed, removed, renamed });
  return changes;
}

test(`${OPERATIONS} random operations are what is found between two snapshots`, async () => {
  const operations = new RandomOperations(ROOT, randomOf(SEED));
  await perform(operations.program(OPERATIONS / 2));
  const before = await save();
  const then = copyOf(operations.tree);
  await perform(operations.program(OPERATIONS));
  const after = await save();

  const found = await compared(before, after, [ROOT]);
  const expected = differences(then, operations.tree);
  expect(asLogged(found, ROOT), `seed ${SEED}`).toEqual(expected);

  const back = await compared(after, before, [ROOT]);
  expect(asLogged(back, ROOT)).toEqual(differences(operations.tree, then));

  const all = await compared(before, after, []);
  expect(all.filter(({ path }) => latin1(path).startsWith(`${ROOT}/`) || path === ROOT)).toEqual(found);
});
