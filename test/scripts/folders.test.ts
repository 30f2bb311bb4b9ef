import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../../worker/config/artifacts.mjs';

const ROOTS =
  'activities api bench bin ca cli clients/typescript host mcp model scripts services store temporal worker workflows'.split(
    ' ',
  );
/** Roots of Go programs, whose compiler refuses cycles itself. */
const GO_ROOTS = ['go'];
/** Limit of files in a folder, for readability. */
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

/** Returns the folders imported by each folder, with an example of each. */
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

/** Returns every folder reachable through imports. */
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

test('imports between folders have no cycle', () => {
  const imports = importsByFolder();
  expect(imports.size).toBeGreaterThan(40);
  const circles = [...imports].flatMap(([folder, others]) =>
    [...others].filter(([other]) => reached(other, imports).has(folder)).map(([, example]) => example),
  );
  expect(circles).toEqual([]);
});

test('no folder exceeds the limit of files', () => {
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
