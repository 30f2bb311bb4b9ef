import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../../worker/config/artifacts.mjs';

const ROOTS =
  'activities api bench bin ca cli clients/typescript host mcp model scripts services store temporal worker workflows'.split(
    ' ',
  );
/** Roots of programs in Go, whose compiler itself refuses circles. */
const GO_ROOTS = ['go'];
/** More than a reader takes in at a glance. */
const MAX_FILES = 16;

function filesBelow(roots: string[], kind: RegExp): string[] {
  return roots.flatMap((root) =>
    readdirSync(join(repository, root), { recursive: true, encoding: 'utf8' })
      .filter((name) => kind.test(name))
      .map((name) => join(root, name)),
  );
}

const files = filesBelow(ROOTS, /\.(ts|mjs)$/);
const goFiles = filesBelow(GO_ROOTS, /(?<!_test)\.go$/);

/** The folders whose files each folder's files import, with an example of each. */
function importsByFolder(): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>();
  for (const file of files) {
    const text = readFileSync(join(repository, file), 'utf8');
    for (const [, path = ''] of text.matchAll(/(?:from|import|import\()\s*'(\.{1,2}\/[^']+)'/g)) {
      const imported = normalize(join(dirname(file), path));
      const [from, to] = [dirname(file), dirname(imported)];
      if (from === to || !ROOTS.some((root) => imported.startsWith(`${root}/`))) continue;
      found.set(from, (found.get(from) ?? new Map<string, string>()).set(to, `${file} imports ${imported}`));
    }
  }
  return found;
}

/** Every folder that can be come to from there. */
function reached(from: string, imports: Map<string, Map<string, string>>): Set<string> {
  const seen = new Set<string>();
  const open = [...(imports.get(from)?.keys() ?? [])];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    if (seen.has(folder)) continue;
    seen.add(folder);
    open.push(...(imports.get(folder)?.keys() ?? []));
  }
  return seen;
}

test('imports between folders make no circle', () => {
  const imports = importsByFolder();
  expect(imports.size).toBeGreaterThan(40);
  const circles = [...imports].flatMap(([folder, others]) =>
    [...others].filter(([other]) => reached(other, imports).has(folder)).map(([, example]) => example),
  );
  expect(circles).toEqual([]);
});

test('no folder holds more files than a reader takes in', () => {
  expect(goFiles.length).toBeGreaterThan(100);
  const counts = new Map<string, number>();
  for (const file of [...files, ...goFiles]) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
});

test('members of classes are private by #', () => {
  const others = files.flatMap((file) => {
    const lines = readFileSync(join(repository, file), 'utf8').split('\n');
    return lines.filter((line) => /^\s+private (?!readonly \w+\??[:=, ]|\w+\??: .*,$|constructor\()/.test(line));
  });
  expect(others).toEqual([]);
});
