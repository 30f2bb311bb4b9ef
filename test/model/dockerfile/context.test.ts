import { describe, expect, it } from 'vitest';
import { deriveOriginKey, deriveStepKey } from '../../../model/dockerfile/cache-key.ts';
import { BuildContext, type ContextEntry } from '../../../model/dockerfile/context.ts';
import { matchesName } from '../../../model/dockerfile/patterns/glob.ts';
import { readDockerfile } from '../../../model/dockerfile/read-dockerfile.ts';
import { ownProcessorMs } from '../../support/processor-time.ts';

// Guards: entries that a COPY takes from a context, and their part in the key of its step. Milliseconds.

function file(path: string, digest = 'd', mode = 0o644): ContextEntry {
  return { path, type: 'file', mode, size: 1, digest, link: null };
}
function folder(path: string): ContextEntry {
  return { path, type: 'directory', mode: 0o755, size: 0, digest: null, link: null };
}
function link(path: string, to: string): ContextEntry {
  return { path, type: 'symlink', mode: 0o777, size: 0, digest: null, link: to };
}

const TREE = [
  folder('src'),
  file('src/a.ts'),
  folder('src/deep'),
  file('src/deep/b.ts'),
  link('src/l', '/etc/passwd'),
  file('x.json'),
  file('y.json'),
  link('ok', 'src/../x.json'),
  link('out', '../secret'),
  link('abs', '/etc/passwd'),
  link('loop', 'loop'),
  link('dir', 'src'),
];

function placed(copy: string, entries = TREE, ignore = '') {
  const [stage] = readDockerfile({ dockerfile: `FROM g\n${copy}`, args: {}, target: null, aliases: {} }).stages;
  const [step] = stage?.steps ?? [];
  if (step?.kind !== 'copy') throw new Error('no COPY');
  return { step, things: new BuildContext(entries, ignore).placed(step) };
}

const names = (copy: string, entries = TREE, ignore = '') => placed(copy, entries, ignore).things.map(({ as }) => as);

describe('COPY takes', () => {
  it.each([
    ['of a folder its content', 'COPY src /d', ['a.ts', 'deep', 'deep/b.ts', 'l']],
    ['all of the context', 'COPY . /d', TREE.map(({ path }) => path).sort()],
    ['one file, to be called so', 'COPY x.json /d', ['']],
    ['one file into a folder', 'COPY ./x.json /d/', ['x.json']],
    ['many', 'COPY x.json src /d/', ['x.json', 'a.ts', 'deep', 'deep/b.ts', 'l']],
    ['a pattern', 'COPY *.json /d/', ['x.json', 'y.json']],
    ['a pattern of folders: their content', 'COPY s* /d/', ['a.ts', 'deep', 'deep/b.ts', 'l']],
    ['nothing of other folders by *', 'COPY *.ts src/*.ts /d/', []],
    ['what is above the root from the root', 'COPY ../../x.json /d/', ['x.json']],
    ['what a link in the context leads to', 'COPY ok dir/a.ts /d/', ['ok', 'a.ts']],
  ])('%s', (_what, copy, expected) => {
    if (expected.length === 0) expect(() => names(copy)).toThrow('nothing in the context matches');
    else expect(names(copy).sort()).toEqual(expected.sort());
  });

  it.each(['out', 'abs', 'loop', 'abs/x', 'missing', 'x.json/y', 'nothing*'])(
    'refuses %s with its line (case 3)',
    (path) => {
      expect(() => names(`COPY ${path} /d/`)).toThrow(/^Line 2: /);
    },
  );

  it('refuses a pattern with several matches for a single target', () => {
    expect(() => names('COPY *.json /d')).toThrow('does not end with /');
  });
});

describe('.dockerignore', () => {
  const some = [
    folder('a'),
    file('a/x'),
    file('a/y'),
    folder('a/b'),
    file('a/b/x'),
    file('.env'),
    file('c/.env'),
    file('k'),
  ];
  it.each([
    ['a', ['.env', 'c', 'c/.env', 'k']],
    ['a/*\n!a/b', ['.env', 'a', 'a/b', 'a/b/x', 'c', 'c/.env', 'k']],
    ['a\n!a/b/x', ['.env', 'a', 'a/b', 'a/b/x', 'c', 'c/.env', 'k']],
    ['**/.env', ['a', 'a/b', 'a/b/x', 'a/x', 'a/y', 'k']],
    ['*\n!k', ['k']],
    ['# k\n\n/k\n./a/', ['.env', 'c', 'c/.env']],
    ['**\n!**/x', ['a', 'a/b', 'a/b/x', 'a/x']],
    ['!k\nk', ['.env', 'a', 'a/b', 'a/b/x', 'a/x', 'a/y', 'c', 'c/.env']],
    ['?\n[b-d]', ['.env']],
  ])('%j', (ignore, expected) => {
    expect([...names('COPY . /d/', some, ignore)].sort()).toEqual(expected);
  });

  it('matches a hostile pattern against a long name fast', () => {
    const began = ownProcessorMs();
    expect(matchesName('*a'.repeat(500).concat('b'), 'a'.repeat(4_000))).toBe(false);
    expect(ownProcessorMs() - began).toBeLessThan(2_000);
  });
});

describe('the key of a step (case 4)', () => {
  const key = (copy: string, entries = TREE, ignore = '', parent = deriveOriginKey('default', 'c1')) => {
    const { step, things } = placed(copy, entries, ignore);
    return deriveStepKey(parent, step, things, null);
  };
  const changed = (path: string, changes: Partial<ContextEntry>) =>
    TREE.map((entry) => (entry.path === path ? { ...entry, ...changes } : entry));

  it('is equal for equal inputs', () => {
    expect(key('COPY src /d')).toBe(key('COPY ./src/ /d', [...TREE].reverse()));
    expect(key('COPY src /d')).toBe(key('COPY src /d', changed('x.json', { digest: 'other' })));
  });

  it.each([
    ['bytes', changed('src/a.ts', { digest: 'e' })],
    ['mode', changed('src/a.ts', { mode: 0o755 })],
    ['type', changed('src/a.ts', { type: 'symlink', link: 'z', digest: null })],
    ['what a link says', changed('src/l', { link: '/etc/shadow' })],
    ['a path', changed('src/a.ts', { path: 'src/z.ts' })],
    ['one more', [...TREE, file('src/new')]],
    ['one less', TREE.filter(({ path }) => path !== 'src/l')],
  ])('differs with %s', (_what, entries) => {
    expect(key('COPY src /d', entries)).not.toBe(key('COPY src /d'));
  });

  it('differs with the project, the source, the target, the owner, and the name of one file', () => {
    const plain = key('COPY src /d');
    expect(key('COPY src /d', TREE, '', deriveOriginKey('other', 'c1'))).not.toBe(plain);
    expect(key('COPY src /d', TREE, '', deriveOriginKey('default', 'c2'))).not.toBe(plain);
    expect(key('COPY src /e')).not.toBe(plain);
    expect(key('COPY --chown=a src /d')).not.toBe(plain);
    expect(key('COPY x.json /d')).not.toBe(key('COPY y.json /d'));
  });

  it('of a RUN includes its variables, and no secret', () => {
    const of = (body: string, args = {}) => {
      const [stage] = readDockerfile({ dockerfile: `FROM g\n${body}`, args, target: null, aliases: {} }).stages;
      const step = stage?.steps.at(-1);
      return step && deriveStepKey('p', step, [], null);
    };
    expect(of('ARG A\nRUN x', { A: '1' })).not.toBe(of('ARG A\nRUN x', { A: '2' }));
    expect(of('RUN x', { A: '1' })).toBe(of('RUN x', { A: '2' }));
    expect(of('ENV A=1 B=2\nRUN x')).toBe(of('ENV B=2\nENV A=1\nRUN x'));
    expect(of('LABEL a=b\nRUN x')).toBe(of('RUN x'));
    expect(of('RUN ["x y"]')).not.toBe(of('RUN ["x", "y"]'));
  });
});

it.each([
  ['brackets that are not closed', '['.repeat(4_000)],
  ['brackets that are closed by what is escaped', `${'['.repeat(4_000)}\\]`],
  ['stars', '*a'.repeat(2_000)],
  ['folders', '**/*a*a*a/'.repeat(400)],
  ['sets', `[${'a-b'.repeat(1_000)}]*`.repeat(1)],
  ['a hundred', Array.from({ length: 100 }, (_, n) => `${'*a'.repeat(100)}${n}`).join('\n')],
])('a hostile .dockerignore is parsed fast: %s', (_what, ignore) => {
  const entries = Array.from({ length: 10_000 }, (_, n) => file(`${'a'.repeat(120)}/${n}${'a'.repeat(120)}`));
  const began = ownProcessorMs();
  try {
    new BuildContext(entries, ignore);
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_request' });
  }
  expect(ownProcessorMs() - began).toBeLessThan(2_000);
});

it('all COPYs together take a bounded number of entries', () => {
  const entries = Array.from({ length: 10_000 }, (_, n) => file(`f${n}`));
  const context = new BuildContext(entries);
  const step = { sources: ['.'], line: 7, target: '/x/', inline: [] };
  for (let n = 0; n < 10; n++) expect(context.placed(step)).toHaveLength(10_000);
  expect(() => context.placed(step)).toThrow('Line 7: all COPYs together');
});
