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

/** Schema whose references are each followed twice: 2^60 in all. */
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

test('an endless validation is answered, and later events are checked', async () => {
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

test('an endless compilation is answered, too', async () => {
  const schemas = opened({ compileMs: 50 });
  const properties = Object.fromEntries(
    Array.from({ length: 900 }, (_, n) => [`p${n}`, { pattern: '^[a-z]+$', type: 'string' }]),
  );
  await expect(schemas.check({ properties })).rejects.toMatchObject({ code: 'schema_too_slow' });
  await expect(schemas.check(GOOD)).resolves.toBeUndefined();
});

test('a hundred concurrent events, of more schemas than the cache holds, are each checked by their own', async () => {
  const schemas = opened();
  const ask = (n: number) => schemas.problemsOf(`const-${n}`, { const: n }, n % 2 === 0 ? n : -1);
  const answers = await Promise.all(Array.from({ length: 210 }, (_, n) => ask(n % 105)));
  for (const [n, answer] of answers.entries()) {
    expect(answer).toEqual((n % 105) % 2 === 0 ? [] : [{ field: '', problem: `must be ${n % 105}` }]);
  }
});

test('a validation that exhausts the memory is answered, and later events are checked', async () => {
  const schemas = opened({ validateMs: 60_000 });
  await schemas.problemsOf('good', GOOD, { n: 1 });
  const bomb = schemas.problemsOf('bomb', DOUBLING, 1); // 2^60 problems, without a limit
  const behind = schemas.problemsOf('good', GOOD, { n: 1 });
  await expect(bomb).rejects.toMatchObject({ code: 'schema_too_slow', message: expect.stringContaining('memory') });
  await expect(behind).resolves.toEqual([]);
});

test('a regular expression that crashes V8 affects only its own event', async () => {
  const schemas = opened({ validateMs: 60_000 });
  const pattern = '(a|b'.repeat(10_000) + ')'.repeat(10_000);
  const deadly = schemas.problemsOf('deadly', { pattern }, 'ab');
  const behind = schemas.problemsOf('good', GOOD, { n: 1 });
  await expect(deadly).rejects.toMatchObject({ code: 'schema_too_slow' });
  await expect(behind).resolves.toEqual([]);
});

test('a request beyond the queue limit is refused with Retry-After', async () => {
  const schemas = opened({ waiting: 2 });
  const waiting = [schemas.check(true), schemas.check(true)];
  await expect(schemas.check(true)).rejects.toMatchObject({
    code: 'too_many_requests',
    options: { retryAfterSeconds: 1 },
  });
  await Promise.all(waiting);
  await expect(schemas.check(true)).resolves.toBeUndefined();
});

test('a killed validator process is replaced', async () => {
  const schemas = opened();
  await schemas.check(GOOD);
  for (const pid of validatorPids()) process.kill(pid, 'SIGKILL');
  await expect(schemas.problemsOf('good', GOOD, { n: 1 })).resolves.toEqual([]);
});

test.each([
  ['starts', async () => {}],
  ['is at work', (schemas: InputSchemas) => schemas.check(SLOW)],
])(
  'no process runs before the first check, nor after the close, which answers those that wait while it %s',
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

test('a validator ends with the process that started it, without an explicit close', async () => {
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

test('a warm validator answers the first check with its running process', async () => {
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
