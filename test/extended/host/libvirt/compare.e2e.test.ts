import { spawnSync } from 'node:child_process';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import type { FileChange, FileChangeRecord } from '../../../../model/files/file-change.ts';
import { asLogged, latin1 } from '../../../host/compared/as-logged.ts';
import { copyOf, differences } from '../../../host/compared/logged-tree.ts';
import { RandomOperations, randomOf } from '../../../host/compared/random-operations.ts';
import { LivingGuest, stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { seedOf, tier } from '../../../support/sweep.ts';

const ROOT = '/srv/tree';
const OPERATIONS = 100;
const FILES = tier() === 'all' ? 10_000 : 2_000;
const SEED = seedOf('compared operations');

const machine = useMachine();
let guest: LivingGuest;

beforeAll(async () => {
  guest = await LivingGuest.wake(machine());
});

const save = async () => (await guest.save())[0];

/** @param program in Perl, whose last line says how many operations it did */
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

/** Through the driver, as a caller waits for it. */
async function timed(what: string, compare: () => Promise<FileChange[]>): Promise<FileChange[]> {
  const began = performance.now();
  const found = await compare();
  process.stderr.write(`${what}: ${found.length} changes in ${(performance.now() - began).toFixed(0)} ms\n`);
  return found;
}

test(`${OPERATIONS} random operations are what is found between two snapshots`, async () => {
  const operations = new RandomOperations(ROOT, randomOf(SEED));
  await perform(operations.program(OPERATIONS / 2));
  const before = await save();
  const then = copyOf(operations.tree);
  await perform(operations.program(OPERATIONS));
  const after = await save();

  const found = await timed(`seed ${SEED}`, () => compared(before, after, [ROOT]));
  const expected = differences(then, operations.tree);
  expect(asLogged(found, ROOT)).toEqual(expected);

  const back = await compared(after, before, [ROOT]);
  expect(asLogged(back, ROOT)).toEqual(differences(operations.tree, then));

  const all = await compared(before, after, []);
  expect(all.filter(({ path }) => latin1(path).startsWith(`${ROOT}/`) || path === ROOT)).toEqual(found);
});

test(`what differs among ${FILES} more files is found, and carried away`, async () => {
  const many = (body: string) =>
    `for my $n (0 .. ${FILES - 1}) { my $p = "/srv/many/" . $n % 100; ${body} } print "1 done\n";`;
  const write = 'open(my $f, ">", "$p/$n") or die "$!"; print {$f} "$n " x ($n % 500); close $f;';
  await perform(`mkdir "/srv/many"; ${many(`mkdir $p; ${write}`)}`);
  const before = await save();
  await perform(
    many(`if ($n % 100 == 7) { open(my $f, ">>", "$p/$n"); print {$f} "more"; close $f; } unlink "$p/$n" if $n == 1;`),
  );
  const after = await save();

  const all = await timed(`all, with ${FILES} files among them`, () => compared(before, after, []));
  expect(all.length).toBeGreaterThan(FILES / 100);
  const found = await timed('/srv/many', () => compared(before, after, ['/srv/many']));
  expect(found.filter(({ change }) => change === 'changed')).toHaveLength(FILES / 100);
  expect(found.filter(({ change }) => change === 'removed')).toMatchObject([{ path: '/srv/many/1/1' }]);
  expect(found[0]).toMatchObject({ path: '/srv/many/1/1' });
  const request = { snapshotId: after, path: '/srv/many/7/7', maxBytes: 100 };
  const expected = Buffer.from(`${'7 '.repeat(7)}more`);
  expect(await machine().host.snapshots.readFile(request, stepContext().signal)).toEqual({
    content: expected,
    size: 18,
  });
  const archive = machine().host.snapshots.changesAsTar({ before, after, within: ['/srv/many'] }, stepContext().signal);
  const { stdout } = spawnSync('tar', ['-t'], { input: await buffer(archive) });
  expect(stdout.toString().split('\n')).toEqual(expect.arrayContaining(['./srv/many/1/.wh.1', './srv/many/7/7']));
});
