import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { InputSchemas, type SchemaLimits } from '../../../../../services/schema/input-schemas.ts';
import { isValidator, validatorPids } from '../../../../api/functions/schema/validator-pids.ts';
import { eventually } from '../../../../support/eventually.ts';

const SLOW = { type: 'string', pattern: '^(a+)+$' };
const SLOWLY = `${'a'.repeat(40)}!`;
const GOOD = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };

/** Each reference of it is followed twice: 2^60 in all. */
const DOUBLING = {
  $ref: '#/$defs/a0',
  $defs: {
    ...Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [`a${n}`, { allOf: [1, 2].map(() => ({ $ref: `#/$defs/a${n + 1}` })) }]),
    ),
    a60: { type: 'string' },
  },
};

function opened(limits: Partial<SchemaLimits> = {}): InputSchemas {
  const schemas = new InputSchemas(limits);
  onTestFinished(() => schemas.close());
  return schemas;
}

test('an event that its schema takes for ever over is answered, and those behind it are checked', async () => {
  const schemas = opened();
  await schemas.check(SLOW);
  const [slow, ...good] = await Promise.allSettled([
    schemas.problemsOf('slow', SLOW, SLOWLY),
    schemas.problemsOf('good', GOOD, { n: 1 }),
    schemas.problemsOf('good', GOOD, { n: '1' }),
    schemas.problemsOf('slow', SLOW, 'aaa'),
  ]);
  expect(slow).toMatchObject({ reason: { code: 'schema_too_slow', retryable: false } });
  const problem = { field: '/n', problem: 'must be integer' };
  expect(good).toMatchObject([{ value: [] }, { value: [problem] }, { value: [] }]);
  expect(validatorPids()).toHaveLength(1);
});

test('so is one whose schema takes for ever to compile', async () => {
  const schemas = opened({ compileMs: 50 });
  const properties = Object.fromEntries(
    Array.from({ length: 900 }, (_, n) => [`p${n}`, { pattern: '^[a-z]+$', type: 'string' }]),
  );
  await expect(schemas.check({ properties })).rejects.toMatchObject({ code: 'schema_too_slow' });
  await expect(schemas.check(GOOD)).resolves.toBeUndefined();
});

test('a hundred events at once, of more schemas than are kept compiled, are each checked by its own', async () => {
  const schemas = opened();
  const ask = (n: number) => schemas.problemsOf(`const-${n}`, { const: n }, n % 2 === 0 ? n : -1);
  const answers = await Promise.all(Array.from({ length: 210 }, (_, n) => ask(n % 105)));
  for (const [n, answer] of answers.entries()) {
    expect(answer).toEqual((n % 105) % 2 === 0 ? [] : [{ field: '', problem: `must be ${n % 105}` }]);
  }
});

test('what takes all memory is answered, and those behind it are checked', async () => {
  const schemas = opened({ validateMs: 60_000 });
  await schemas.problemsOf('good', GOOD, { n: 1 });
  const bomb = schemas.problemsOf('bomb', DOUBLING, 1); // 2^60 problems, if nothing stops it
  const behind = schemas.problemsOf('good', GOOD, { n: 1 });
  await expect(bomb).rejects.toMatchObject({ code: 'schema_too_slow', message: expect.stringContaining('memory') });
  await expect(behind).resolves.toEqual([]);
});

test('a regular expression that V8 dies of costs its own event', async () => {
  const schemas = opened({ validateMs: 60_000 });
  const pattern = '(a|b'.repeat(10_000) + ')'.repeat(10_000);
  const deadly = schemas.problemsOf('deadly', { pattern }, 'ab');
  const behind = schemas.problemsOf('good', GOOD, { n: 1 });
  await expect(deadly).rejects.toMatchObject({ code: 'schema_too_slow' });
  await expect(behind).resolves.toEqual([]);
});

test('who comes when too many wait is told to come again', async () => {
  const schemas = opened({ waiting: 2 });
  const waiting = [schemas.check(true), schemas.check(true)];
  await expect(schemas.check(true)).rejects.toMatchObject({
    code: 'too_many_requests',
    options: { retryAfterSeconds: 1 },
  });
  await Promise.all(waiting);
  await expect(schemas.check(true)).resolves.toBeUndefined();
});

test('a process that somebody else ends is replaced', async () => {
  const schemas = opened();
  await schemas.check(GOOD);
  for (const pid of validatorPids()) process.kill(pid, 'SIGKILL');
  await expect(schemas.problemsOf('good', GOOD, { n: 1 })).resolves.toEqual([]);
});

test.each([
  ['starts', async () => {}],
  ['is at work', (schemas: InputSchemas) => schemas.check(SLOW)],
])(
  'nothing runs before the first question, nor after the end, which answers those that wait while it %s',
  async (_, first) => {
    const schemas = opened();
    expect(validatorPids()).toEqual([]);
    await first(schemas);
    const slow = Promise.allSettled([schemas.problemsOf('slow', SLOW, SLOWLY), schemas.check(GOOD)]);
    await schemas.close();
    expect(validatorPids()).toEqual([]);
    const stopped = { reason: { code: 'internal' } };
    expect(await slow).toMatchObject([stopped, stopped]);
    await expect(schemas.check(GOOD)).rejects.toMatchObject({ code: 'internal' });
    await schemas.close();
  },
);

test('a process that has asked ends by itself, and what it has asked with it', async () => {
  const schemasModule = fileURLToPath(new URL('../../../../../services/schema/input-schemas.ts', import.meta.url));
  const program = `
    const { InputSchemas } = await import(${JSON.stringify(schemasModule)});
    const held = setInterval(() => {}, 1_000);
    const schemas = new InputSchemas();
    await schemas.check(${JSON.stringify(SLOW)});
    const { readFileSync } = await import('node:fs');
    const pid = readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').trim().split(' ').at(-1);
    schemas.problemsOf('slow', ${JSON.stringify(SLOW)}, ${JSON.stringify(SLOWLY)}).catch(() => {});
    const runs = () => readFileSync('/proc/' + pid + '/stat', 'utf8').includes(') R ');
    while (!runs()) await new Promise((resolve) => setTimeout(resolve, 10));
    console.log(pid);
    clearInterval(held);`;
  const argv = ['--import', 'tsx', '--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, argv);
  expect(stdout).toMatch(/^\d+\n$/);
  await eventually(async () => isValidator(stdout.trim()), false);
});

test('what is warm answers the first question by the process that is there', async () => {
  const schemas = opened();
  const before = validatorPids();
  await Promise.all([schemas.warm(), schemas.warm()]);
  const started = validatorPids().filter((pid) => !before.includes(pid));
  expect(started).toHaveLength(1);
  expect(await schemas.problemsOf('good', GOOD, { n: 1 })).toEqual([]);
  expect(validatorPids().filter((pid) => !before.includes(pid))).toEqual(started);
  await schemas.close();
  await schemas.warm();
  expect(validatorPids().filter((pid) => !before.includes(pid))).toEqual([]);
});
