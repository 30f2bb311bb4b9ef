// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are Docker's
import { describe, expect, it } from 'vitest';
import type { CopyStep, RunStep } from '../../../model/dockerfile/plan.ts';
import { readDockerfile } from '../../../model/dockerfile/read-dockerfile.ts';
import { ownProcessorMs } from '../../support/processor-time.ts';

// Guards: a Dockerfile has the same meaning as for Docker, or is refused with the line before anything runs.
// Milliseconds.

const ALIASES = { 'debian:12': 'golden-debian12' };

function read(dockerfile: string, args: Record<string, string> = {}, target: string | null = null) {
  return readDockerfile({ dockerfile, args, target, aliases: ALIASES });
}

/** Parses the only stage after `FROM golden`. */
function stageOf(body: string, args: Record<string, string> = {}) {
  const stage = read(`FROM golden\n${body}`, args).stages.at(-1);
  if (!stage) throw new Error('no stage');
  return stage;
}

function runOf(body: string, args: Record<string, string> = {}): RunStep {
  const step = stageOf(body, args).steps.findLast(({ kind }) => kind === 'run');
  if (step?.kind !== 'run') throw new Error('no RUN');
  return step;
}

function copyOf(body: string): CopyStep {
  const step = stageOf(body).steps.findLast(({ kind }) => kind === 'copy');
  if (step?.kind !== 'copy') throw new Error('no COPY');
  return step;
}

describe('RUN', () => {
  it.each([
    ['shell form', 'RUN echo "a  b" \'c\'', ['/bin/sh', '-c', 'echo "a  b" \'c\'']],
    ['exec form keeps blanks and escapes', 'RUN ["a", "b  c", "d\\n\\"e"]', ['a', 'b  c', 'd\n"e']],
    ['what is no JSON is the shell form', `RUN ["a", 'b']`, ['/bin/sh', '-c', `["a", 'b']`]],
    ['continued, with comments and empty lines', 'RUN a \\\n# no\n\n  b', ['/bin/sh', '-c', 'a   b']],
    ['a # behind something', "RUN echo '# yes' #no", ['/bin/sh', '-c', "echo '# yes' #no"]],
    ['two escapes at the end are none', 'RUN echo a\\\\\nRUN ["b"]', ['b']],
    ['variables are the shell’s', 'ENV A=1\nRUN echo $A ${B:-c} \\$', ['/bin/sh', '-c', 'echo $A ${B:-c} \\$']],
    ['SHELL', 'SHELL ["/bin/bash", "-ec"]\nRUN a', ['/bin/bash', '-ec', 'a']],
    ['lower case', 'run a', ['/bin/sh', '-c', 'a']],
    ['a heredoc alone is the script', 'RUN <<EOF\na\nb \\\nFROM x\nEOF', ['/bin/sh', '-c', 'a\nb \\\nFROM x\n']],
    ['tabs of <<-', 'RUN <<-EOF\n\ta\n\tEOF', ['/bin/sh', '-c', 'a\n']],
    ['several', "RUN cat <<A - <<'B' >x\n1\nA\n2 $x\nB", ['/bin/sh', '-c', "cat <<A - <<'B' >x\n1\nA\n2 $x\nB"]],
    ['<< in quotes, or in arithmetic', 'RUN echo "<<EOF" $((1<<3))', ['/bin/sh', '-c', 'echo "<<EOF" $((1<<3))']],
    ['CRLF', 'RUN a \\\r\n b\r', ['/bin/sh', '-c', 'a  b']],
  ])('%s', (_what, body, argv) => {
    expect(runOf(body).argv).toEqual(argv);
  });

  it('a heredoc with #! is a program', () => {
    const { argv, stdin } = runOf('RUN <<EOF\n#!/usr/bin/perl\nprint 1;\nEOF');
    expect({ argv: argv.slice(0, 2), stdin }).toEqual({
      argv: ['/bin/sh', '-c'],
      stdin: '#!/usr/bin/perl\nprint 1;\n',
    });
  });

  it('FROM in a heredoc is text (case 2)', () => {
    expect(read('FROM golden\nRUN <<EOF\nFROM evil\nEOF\nCOPY <<F /x\nFROM evil\nF').stages).toHaveLength(1);
  });

  it('runs with the ENV and ARG before its line, in its folder, as its user', () => {
    const body = 'ARG V=1\nENV A=$V B=b\nWORKDIR /a\nWORKDIR b/../c\nUSER bob\nRUN x\nENV A=2\nARG W=3\nUSER root';
    expect(runOf(body, { V: '7' })).toMatchObject({ cwd: '/a/c', user: 'bob', env: { V: '7', A: '7', B: 'b' } });
    expect(runOf(body).env).not.toHaveProperty('W');
  });

  it('a secret is mounted, and appears nowhere else', () => {
    expect(
      runOf('RUN --mount=type=secret,id=k --mount=type=secret,id=n,target=/root/n,required=true x').secrets,
    ).toEqual([
      { id: 'k', target: '/run/secrets/k', mode: '0400', owner: '0:0', isRequired: false },
      { id: 'n', target: '/root/n', mode: '0400', owner: '0:0', isRequired: true },
    ]);
  });
});

describe('variables', () => {
  it.each([
    ['ENV A=a B="b c" C=d\\ e D=\'$x\'', { A: 'a', B: 'b c', C: 'd e', D: '$x' }],
    ['ENV A a  b', { A: 'a  b' }],
    ['ENV A=1\nENV A=2 B=$A', { A: '2', B: '1' }],
    [
      'ENV A=1\nENV B=${A}x C=${N:-d} D=${A:+e} E=${N+f} F=\\$A G="\\$A" H=$N',
      { B: '1x', C: 'd', D: 'e', E: '', F: '$A', G: '$A', H: '' },
    ],
    ['ENV A=\nENV B=${A:-x} C=${A-y} D=${N:-${A:-z}}', { B: 'x', C: '', D: 'z' }],
    ['ARG A=arg\nENV A=env\nARG A=late\nENV B=$A', { B: 'env' }],
    ['ENV __proto__=1 constructor=2', { constructor: '2' }],
  ])('%s', (body, env) => {
    expect(stageOf(body).settings.env).toMatchObject(env);
  });

  it('an ARG before FROM applies to FROM, and to stages that redeclare it', () => {
    const text = 'ARG V=12\nARG N=debian:$V\nFROM $N\nENV A=$V\nARG V\nENV B=$V';
    const [stage] = read(text).stages;
    expect(stage).toMatchObject({ from: { source: 'golden-debian12' }, settings: { env: { A: '', B: '12' } } });
  });

  it('an ARG ends with its stage, is never in ENV, and unused ones are reported', () => {
    const text = 'FROM golden AS a\nARG S=1\nRUN x\nFROM golden\nRUN y\nCOPY --from=a /x /y';
    const { stages, unusedArgs } = read(text, { S: 'given', T: 'never' });
    expect(unusedArgs).toEqual(['T']);
    expect(stages[0]?.steps[0]).toMatchObject({ env: { S: 'given' } });
    expect(stages[0]?.settings.env).not.toHaveProperty('S');
    expect(stages[1]?.steps[0]).not.toHaveProperty('env.S');
  });
});

it.each([
  ['COPY a b /c/', { sources: ['a', 'b'], target: '/c/' }],
  ['COPY ["a b", "/c d/"]', { sources: ['a b'], target: '/c d/' }],
  ['COPY "a b" /c\\ d', { sources: ['a b'], target: '/c d' }],
  ['WORKDIR /w\nCOPY a .', { sources: ['a'], target: '/w/' }],
  ['WORKDIR /w\nCOPY a ../b', { sources: ['a'], target: '/b' }],
  ['COPY --chown=a:1 --chmod=0750 a /b', { owner: 'a:1', mode: '0750', from: null }],
  ['ENV X=q\nCOPY $X /${X}/', { sources: ['q'], target: '/q/' }],
  ['ADD a /b', { sources: ['a'], target: '/b' }],
  [
    'ENV X=q\nCOPY <<a.txt <<"b" /d/\n1 $X "\\$"\na.txt\n2 $X\nb',
    {
      inline: [
        { name: 'a.txt', content: '1 q "$"\n' },
        { name: 'b', content: '2 $X\n' },
      ],
    },
  ],
])('COPY and ADD, %s', (body, expected) => {
  expect(copyOf(body)).toMatchObject(expected);
});

it('stages are found by name and index; those the target does not need are omitted', () => {
  const text =
    'FROM golden AS One\nENV A=1\nFROM golden AS two\nRUN no\nFROM one\nCOPY --from=0 /a /b\nFROM golden AS last';
  const { stages } = read(text, {}, '2');
  expect(stages.map(({ index, from }) => [index, from])).toEqual([
    [0, { source: 'golden' }],
    [2, { stage: 0 }],
  ]);
  expect(stages[1]?.settings.env).toMatchObject({ A: '1' });
});

it('LABEL, EXPOSE, CMD, ENTRYPOINT', () => {
  const body = 'LABEL a="b c" d=e\nEXPOSE 80 53/udp\nCMD ["x", "y z"]\nENTRYPOINT /run me';
  expect(stageOf(body).settings).toMatchObject({
    labels: { a: 'b c', d: 'e' },
    exposed: ['80/tcp', '53/udp'],
    cmd: ['x', 'y z'],
    entrypoint: ['/bin/sh', '-c', '/run me'],
  });
});

it('escape=`', () => {
  const [stage] = read('# escape=`\nFROM golden\nRUN a `\n b\\\nENV A=c:\\d').stages;
  expect(stage?.steps[0]).toMatchObject({ argv: ['/bin/sh', '-c', 'a  b\\'] });
  expect(stage?.settings.env).toMatchObject({ A: 'c:\\d' });
});

it.each([
  ['', 1, 'no FROM'],
  ['RUN a', 1, 'before the first FROM'],
  ['FROM golden\nONBUILD RUN x', 2, 'ONBUILD'],
  ['FROM golden\nWHAT', 2, 'no instruction'],
  ['FROM golden\n\n# x\nRUN a \\\n b\nADD https://x/y /z', 6, 'fetches nothing'],
  ['FROM golden\nADD git@github.com:x/y /z', 2, 'fetches nothing'],
  ['FROM golden\nADD x.tar.gz /z', 2, 'unpacks nothing'],
  ['FROM golden\nRUN --mount=type=cache y', 2, 'a `target`'],
  ['FROM golden\nRUN --mount=type=cache,target=/x,from=a y', 2, 'the option from'],
  ['FROM golden\nRUN --mount=target=/x y', 2, 'type=bind'],
  ['FROM golden\nRUN --security=insecure y', 2, '--security'],
  ['FROM golden\nRUN --network=host y', 2, '--network=host'],
  ['FROM golden\nRUN <<EOF\nx', 2, 'does not end'],
  ['FROM golden\nRUN 3<<EOF\nx\nEOF', 2, 'descriptor'],
  ['FROM golden\nRUN ["a", 1]', 2, 'strings'],
  ['FROM golden\nCOPY <<../x /y/\n../x', 2, 'no name of a file'],
  ['FROM golden\nCOPY a', 2, 'to where'],
  ['FROM golden\nCOPY a b c', 2, 'does not end with /'],
  ['FROM golden\nCOPY --from=alpine a /b', 2, 'no stage before'],
  ['FROM golden AS a\nCOPY --from=a a /b', 2, 'no stage before'],
  ['FROM golden\nCOPY --chmod=u+x a /b', 2, 'octal'],
  ["FROM golden\nCOPY --chown='$(id)' a /b", 2, 'user:group'],
  ['FROM golden\nUSER a:', 2, 'no name or number'],
  ['ARG D\nFROM golden\nARG D="/a\\\n  b"\nUSER a:b:c', 5, 'no name or number'],
  ['FROM golden\nUSER ../x', 2, 'no name or number'],
  ['FROM golden\nSHELL bash', 2, 'JSON'],
  ['FROM golden\nEXPOSE ssh', 2, 'no port'],
  ['FROM golden\nENV A', 2, 'no value'],
  ['FROM golden\nENV A=${B:?gone}', 2, 'gone'],
  ['FROM golden\nENV A=${B#x}', 2, 'of no kind'],
  ['FROM golden\nENV A="b', 2, 'not closed'],
  ['FROM golden\nENV A=${B:-x', 2, 'missing'],
  ['FROM scratch', 1, 'scratch'],
  ['FROM debian:13', 1, 'no source'],
  ['FROM --platform=linux/arm64 golden', 1, 'platform'],
  ['FROM golden as', 1, 'AS name'],
  ['# escape=x\nFROM golden', 1, 'escape'],
  ['# syntax=evil/x\nFROM golden', 1, 'syntax'],
  ['FROM golden\nARG A\nRUN x\nWORKDIR $A', 4, 'control character', { A: '/srv\nExecStartPre=+/bin/sh' }],
  ['FROM golden\nARG A\nWORKDIR /x$A', 3, 'control character', { A: '\r' }],
  [`FROM golden\nRUN ${'x'.repeat(131_072)}`, 2, 'at most 131071 bytes'],
  [`FROM golden\nCMD ${'ü'.repeat(65_536)}`, 2, 'at most 131071 bytes'],
  ['FROM golden\nARG A\nRUN x', 2, 'at most 131071 bytes', { A: 'x'.repeat(131_071) }],
  [`FROM golden\nENV A=${'${a:-'.repeat(200)}${'}'.repeat(200)}`, 2, 'one within the other'],
  [`FROM golden\nENV A=12345678${'\nENV A=$A$A'.repeat(30)}`, 16, 'at most 131071 bytes'],
  [`FROM golden\nENV A=12345678\nLABEL ${`a=${'$A'.repeat(20_000)} `.repeat(30)}`, 3, 'come to more than'],
  [`FROM golden\n${'RUN x\n'.repeat(201)}`, 202, '200 steps'],
] as readonly [string, number, string, Record<string, string>?][])(
  'is refused with its line: %.60j',
  (text, line, why, args) => {
    expect(() => read(text, args)).toThrow(
      expect.objectContaining({
        code: 'dockerfile_unsupported',
        message: expect.stringMatching(new RegExp(`^Line ${line}: .*${why}`)),
      }),
    );
  },
);

it('unsupported instructions without effect are reported, not refused', () => {
  const text = [
    `# syntax=docker/dockerfile:1.7-labs@sha256:${'a'.repeat(64)}`,
    'FROM --platform=$BUILDPLATFORM debian:bookworm-slim',
    'MAINTAINER me',
    'VOLUME ["/data"]',
    'HEALTHCHECK --interval=5s CMD curl -f x',
    'STOPSIGNAL SIGKILL',
    'COPY --link a /b',
    'RUN --mount=type=cache,target=/root/.cache,sharing=locked,id=x --mount=type=secret,id=k y',
    'USER app:web',
    'ARG TARGETARCH TARGETPLATFORM TARGETVARIANT',
    'RUN z',
  ].join('\n');
  const { stages, ignored } = read(text);
  expect(ignored.map(({ line, text: said }) => [line, said.split(':')[0]])).toEqual([
    [1, '# syntax=docker/dockerfile'],
    [3, 'MAINTAINER'],
    [4, 'VOLUME'],
    [5, 'HEALTHCHECK'],
    [6, 'STOPSIGNAL'],
    [7, 'COPY --link'],
    [8, 'RUN --mount=type=cache'],
  ]);
  const [stage] = stages;
  expect(stage).toMatchObject({ from: { source: 'golden-debian12' }, settings: { user: 'app:web' } });
  expect(stage?.steps[1]).toMatchObject({
    caches: [{ target: '/root/.cache', mode: '0755', owner: '0:0' }],
    secrets: [{ id: 'k' }],
  });
  const platform = { TARGETARCH: 'amd64', TARGETPLATFORM: 'linux/amd64', TARGETVARIANT: '' };
  expect(stage?.steps[2]).toMatchObject({ env: platform, user: 'app:web' });
});

it.each([
  'debian:12',
  'debian:bookworm',
  'debian:12.5-slim',
  'docker.io/library/debian:12',
  'debian:bookworm-20240110-slim',
])('FROM %s is the golden image of that release', (name) => {
  expect(readDockerfile({ dockerfile: `FROM ${name}`, args: {}, target: null, aliases: {} }).stages[0]?.from).toEqual({
    source: 'golden-debian12',
  });
});

it('all faults are reported at once, with a remedy', () => {
  const text = 'FROM node:20 AS a\nUSER a b\nWHAT\nFROM a\nONBUILD x\nCOPY --from=a /x /y\nENV A="b';
  const lines = [1, 2, 3, 5, 7];
  expect(() => read(text)).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(
        /^Line 1: .*--alias node:20=SOURCE.*skopeo copy docker:\/\/node:20 oci-archive:node\.tar.*\nLine 2: /,
      ),
      options: {
        fields: expect.arrayContaining(lines.map((line) => expect.objectContaining({ field: `line ${line}` }))),
      },
    }),
  );
});

describe('quotes are kept', () => {
  it.each([
    ['{"a": "say \\"hi\\""}', '{"a": "say \\"hi\\""}'],
    ['it\'s \\n $X \\$X \\\\ ${Y:-"d"}', 'it\'s \\n q $X \\ "d"'],
    ['a \\', 'a \\'],
  ])('in a heredoc: %s', (content, expected) => {
    expect(copyOf(`ENV X=q\nCOPY <<EOF /x\n${content}\nEOF`).inline).toEqual([
      { name: 'EOF', content: `${expected}\n` },
    ]);
  });

  it('in the JSON form', () => {
    expect(copyOf('ENV X=q\nCOPY ["it\'s $X", "a\\"b", "/d/"]').sources).toEqual(["it's q", 'a"b']);
  });
});

it.each([
  ['flags', `RUN ${'--a=b '.repeat(150_000)}x`],
  ['dollars', `ENV A=${'$'.repeat(500_000)}`],
  ['braces', `ENV A=${'${a:-'.repeat(100_000)}`],
  ['quotes', `ENV A=${'"'.repeat(99_999)}`],
  ['empty lines', `RUN ${'\\\n'.repeat(200_000)}`],
  ['heredocs', `RUN ${'<<a '.repeat(2_000)}`],
  ['heredocs that end', `COPY ${'<<a '.repeat(150_000)} /x/\n${'a\n'.repeat(150_000)}`],
  ['blanks within', `RUN a${' '.repeat(500_000)}b`],
  ['variables', `ENV ${Array.from({ length: 100_000 }, (_, n) => `A${n}=`).join(' ')}`],
  ['instructions', 'EXPOSE 1-2\n'.repeat(90_000)],
  ['instructions that are none', 'x\n'.repeat(500_000)],
  ['stages', 'FROM ./a\n'.repeat(100_000)],
])('a hostile Dockerfile is parsed fast: %s', (_what, body) => {
  const began = ownProcessorMs();
  for (const text of [`FROM golden\n${body}`, `# syntax=${body}`]) {
    try {
      read(text);
    } catch (error) {
      expect(error).toMatchObject({ code: 'dockerfile_unsupported' });
      expect(String(error).length).toBeLessThan(60_000);
    }
  }
  expect(ownProcessorMs() - began).toBeLessThan(1_000);
});
