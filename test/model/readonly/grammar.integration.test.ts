import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ReadonlyCommand, textOf } from '../../../model/readonly/command.ts';
import { parse } from '../../../model/readonly/grammar.ts';
import { seed, seedOf, sweep } from '../../support/sweep.ts';
import { useFolder } from '../../support/use-folder.ts';
import { argument, quoted } from './quoting.ts';

const parsed = (text: string) => {
  const result = parse(text, 4096);
  return 'command' in result ? result.command : result;
};

describe('the grammar', () => {
  it('parses pipelines, their operators, and the redirections of standard input and error', () => {
    expect(parsed("ls -l 'a b' 2>/dev/null | wc -l && cat </dev/null 2>&1 || true; uname # done")).toEqual({
      pipelines: [
        {
          when: 'always',
          stages: [
            { argv: ['ls', '-l', 'a b'], stdin: 'null', stderr: 'null' },
            { argv: ['wc', '-l'], stdin: 'pipe', stderr: 'inherit' },
          ],
        },
        { when: 'success', stages: [{ argv: ['cat'], stdin: 'null', stderr: 'stdout' }] },
        { when: 'failure', stages: [{ argv: ['true'], stdin: 'null', stderr: 'inherit' }] },
        { when: 'always', stages: [{ argv: ['uname'], stdin: 'null', stderr: 'inherit' }] },
      ],
    });
  });

  it.each([
    ['>/dev/null', { stdin: 'null', stdout: 'null', stderr: 'inherit' }],
    ['1> /dev/null', { stdin: 'null', stdout: 'null', stderr: 'inherit' }],
    ['>/dev/null 2>&1', { stdin: 'null', stdout: 'null', stderr: 'null' }],
    ['&>/dev/null', { stdin: 'null', stdout: 'null', stderr: 'null' }],
    ['2>&1 >/dev/null', { stdin: 'null', stdout: 'null', stderr: 'stdout' }],
    ['2>&1', { stdin: 'null', stderr: 'stdout' }],
    ['2>&1 2>/dev/null', { stdin: 'null', stderr: 'null' }],
  ])('applies redirections from left to right: %s', (text, streams) => {
    expect(parsed(`ls ${text}`)).toEqual({ pipelines: [{ when: 'always', stages: [{ argv: ['ls'], ...streams }] }] });
  });

  it('parses each line as a command, with continued lines as one', () => {
    const text = '\n# look\nuname -a # kernel \\\n\n\n  ps aux |\n# of root\ngrep \\\n  root &&\necho yes\n';
    expect(parsed(text)).toMatchObject({
      pipelines: [
        { when: 'always', stages: [{ argv: ['uname', '-a'] }] },
        { when: 'always', stages: [{ argv: ['ps', 'aux'] }, { argv: ['grep', 'root'], stdin: 'pipe' }] },
        { when: 'success', stages: [{ argv: ['echo', 'yes'] }] },
      ],
    });
  });

  it('parses variables before a program, and as arguments after it', () => {
    expect(parsed('LC_ALL=C TZ="U"TC >/dev/null date A=b | X= cat')).toEqual({
      pipelines: [
        {
          when: 'always',
          stages: [
            {
              environment: ['LC_ALL=C', 'TZ=UTC'],
              argv: ['date', 'A=b'],
              stdin: 'null',
              stdout: 'null',
              stderr: 'inherit',
            },
            { environment: ['X='], argv: ['cat'], stdin: 'pipe', stderr: 'inherit' },
          ],
        },
      ],
    });
  });

  it.each([
    ['/var/*', { glob: '/var/*' }],
    ['"*"*', { glob: '\\**' }],
    ['a\\?[b-d]', { glob: 'a\\?[b-d]' }],
    ['"*"', '*'],
    ['[', '['],
    ['a[b', 'a[b'],
    ['{}', '{}'],
    ['%{http_code}', '%{http_code}'],
    ['a~', 'a~'],
    ['"foo$"', 'foo$'],
    ['"^a$|b"', '^a$|b'],
    ['"a\\"b\\\\c\\d"', 'a"b\\c\\d'],
    ['a#b', 'a#b'],
  ])('parses %s as %j', (text, expected) => {
    expect(parsed(`echo ${text}`)).toMatchObject({ pipelines: [{ stages: [{ argv: ['echo', expected] }] }] });
  });

  it.each([
    ['ls $(pwd)', 3, '`$` would be expanded'],
    ['echo "a`id`"', 7, 'would be expanded'],
    ['ls \ud800', 3, 'surrogate'],
    ['ls & rm', 3, 'background'],
    ['ls\rrm', 2, 'carriage return'],
    ['ls \u2028rm', 3, 'separator'],
    ["ls 'a\nb'", 5, 'newline'],
    ['ls "a\nb"', 5, 'newline'],
    ['ls\\\n-l', 2, 'between words'],
    ['ls\n\n && id', 5, 'program is missing'],
    ['ls\n; id', 3, 'program is missing'],
    ['ls &&\n', 6, 'program is missing'],
    ['ls > x', 3, '2>/dev/null'],
    ['ls >/dev/null/../x', 3, '2>/dev/null'],
    ['ls &>x', 3, '2>/dev/null'],
    ['ls >|/dev/null', 3, '2>/dev/null'],
    ['A+=1 ls', 0, 'variable'],
    ["'A'=1 ls", 0, 'variable'],
    ['if true', 0, 'shell'],
    ['ls {a,b}', 3, 'braces'],
    ['ls ~/x', 3, '`~`'],
    ["ls 'a", 3, 'not closed'],
    ['ls |', 4, 'program is missing'],
    ['', 0, 'program is missing'],
    ['ls * ? | * x', 9, 'pattern'],
    ['cat {fd}</dev/null', 4, 'blank'],
  ])('refuses %j at %i', (text, position, reason) => {
    expect(parse(text, 4096)).toEqual({ position, reason: expect.stringContaining(reason) });
  });

  it(`gives back every argv that was quoted (seed ${seed()})`, () => {
    const ways = fc.array(fc.nat(3), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(fc.array(argument, { minLength: 1, maxLength: 6 }), ways, (argv, how) => {
        const text = `p ${argv.map((word) => quoted(word, how)).join(' ')}`;
        expect(parsed(text)).toMatchObject({ pipelines: [{ stages: [{ argv: ['p', ...argv] }] }] });
      }),
      { seed: seedOf('quoting'), numRuns: 2_000 },
    );
  });

  it(`answers any text, and a refusal points into it (seed ${seed()})`, () => {
    const token = fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), fc.constantFrom(...TOKENS));
    fc.assert(
      fc.property(fc.array(token, { maxLength: 12 }), (tokens) => {
        const text = tokens.join('');
        const result = parse(text, 4096);
        if ('command' in result) return;
        expect(result.position).toBeGreaterThanOrEqual(0);
        expect(result.position).toBeLessThanOrEqual(text.length);
      }),
      { seed: seedOf('any text'), numRuns: 5_000 },
    );
  });
});

/** Tokens without a slash except in /dev/null: bash would run a file after one. */
const TOKENS = [
  ...`' " \\ $ \` | || & && ; ( ) < > # ! * ? [ ] { } ~ = - -- ~x {} {a} {a,b} a b "a" 'b' "a\\"b" "\\$" "$" \\' \\" \\\\ a=b`.split(
    ' ',
  ),
  ' ',
  '\t',
  '  ',
  '2>/dev/null',
  '2> /dev/null',
  '2>&1',
  '</dev/null',
  '>/dev/null',
  '&>/dev/null',
  '\n',
  '\\\n',
  'LC_ALL=C ',
  ' zz ',
  '; zz ',
  '\nzz ',
  '; LC_ALL=C zz ',
  ' && zz ',
  ' || zz ',
  ' | zz ',
  'é',
  '🎉',
];

/** Script that records each command's name and arguments; bash finds no command. */
const RECORDER = `PATH=/nonexistent; command_not_found_handle() { printf '%s\\0' "$#" "$@" >&9; }; set -f\n`;

/** Returns the commands that bash runs for a text, by name. */
function byBash(text: string, cwd: string): Map<string, string[]> {
  const { stdout } = spawnSync(
    '/bin/bash',
    ['--norc', '--noprofile', '-c', `exec 9>&1 >/dev/null; ${RECORDER}${text}`],
    { cwd, env: { LC_ALL: 'C.UTF-8' }, encoding: 'utf8' },
  );
  const fields = stdout.split('\0').slice(0, -1);
  const runs = new Map<string, string[]>();
  for (let at = 0; at < fields.length; ) {
    const [name = '', ...args] = fields.slice(at + 1, at + 1 + Number(fields[at]));
    runs.set(name, args);
    at += 1 + Number(fields[at]);
  }
  return runs;
}

/** Returns the commands that bash must run when every command succeeds. */
function byGrammar(command: ReadonlyCommand): Map<string, string[]> {
  const runs = command.pipelines.filter((pipeline) => pipeline.when !== 'failure');
  return new Map(
    runs.flatMap((pipeline) => pipeline.stages.map(({ argv }) => [argv[0], argv.slice(1).map(textOf)] as const)),
  );
}

const TENTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

describe('the grammar compared to bash', () => {
  const cwd = useFolder();

  sweep(TENTHS)(`reads what it accepts as bash does (seed ${seed()}, tenth %s)`, async (tenth) => {
    const words = fc.array(fc.constantFrom(...TOKENS), { minLength: 1, maxLength: 10 });
    let compared = 0;
    fc.assert(
      fc.property(words, (tokens) => {
        let command = 0;
        const text = `zz ${tokens.join('')}`.replace(
          /(^|[;&|] |\n|=C )zz /g,
          (_all, before: string) => `${before}zz${command++} `,
        );
        const result = parsed(text);
        fc.pre('pipelines' in result);
        if (!('pipelines' in result)) return;
        fc.pre(result.pipelines.every(({ stages }) => stages.every(({ argv }) => /^zz\d+$/.test(argv[0]))));
        compared++;
        expect(byBash(text, cwd)).toEqual(byGrammar(result));
      }),
      { seed: seedOf(`beside bash ${tenth}`), numRuns: 60 },
    );
    expect(compared).toBe(60);
  });
});
