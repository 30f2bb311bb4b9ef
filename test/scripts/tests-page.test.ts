import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tiersIn } from '../../scripts/test/files.mjs';
import { repository } from '../../worker/config/artifacts.mjs';

const ROW = /^\|([^|]+)\|([^|]+)\|([^|]*)\|$/gm;
/** As `worker/residue.e2e` or `cli/{cp,ssh}.integration`; * marks a file that `npm test` leaves out as a whole. */
const NAME = /(?<![/\w.])([a-z][\w-]*\/[\w./{},-]*[\w}])(\*?)/g;

interface NamedFile {
  path: string;
  isMarked: boolean;
}

const page = readFileSync(join(repository, 'docs', 'tests.md'), 'utf8');

const rows = [...page.matchAll(ROW)].map(([, promise = '', held = '', tier = '']) => ({
  promise: promise.trim(),
  files: [...namedIn(held)],
  tiers: tier.match(/quick|sweep|full/g) ?? [],
}));

function* namedIn(cell: string): Generator<NamedFile> {
  for (const [, name = '', star] of cell.matchAll(NAME)) {
    if (name.startsWith('scripts/test/')) continue;
    const [, before = name, alternatives = '', after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(name) ?? [];
    for (const one of alternatives.split(',')) {
      yield { path: join(repository, 'test', `${before}${one}${after}.test.ts`), isMarked: star === '*' };
    }
  }
}

/** The tiers in which some test of the file runs, or is left out. */
function tiersOf({ path }: NamedFile): string[] {
  const text = readFileSync(path, 'utf8');
  const { isFull, uses } = tiersIn(text);
  if (isFull || !/^\s*(test|it|sweep)\b[.<(]/m.test(text)) return ['full'];
  return ['quick', ...(/\bsweep/.test(uses) ? ['sweep'] : []), ...(/FULL|onlyInFull/.test(uses) ? ['full'] : [])];
}

test('the table of promises names files that there are, and marks those that `npm test` leaves out', () => {
  const named = rows.flatMap(({ files }) => files);
  expect(named.length).toBeGreaterThan(100);
  for (const { path, isMarked } of named) {
    expect(existsSync(path), path).toBe(true);
    expect(isMarked, path).toBe(tiersIn(readFileSync(path, 'utf8')).isFull);
  }
});

test('it says in which tiers each promise is held', () => {
  for (const { promise, files, tiers } of rows) {
    expect([...new Set(tiers)].toSorted(), promise).toEqual([...new Set(files.flatMap(tiersOf))].toSorted());
  }
});
