// @module-tag full
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { FILES_FOLDER } from '../../model/functions/guest-layout.ts';
import { TestDoor } from '../support/door.ts';
import { eventually } from '../support/eventually.ts';
import { TestFunctions } from '../support/functions.ts';
import { useSagaCases } from '../support/saga-cases.ts';

/** What functions are given, and what is shown of it. */
const { test, alone, mayfly: all } = useSagaCases();
let door: TestDoor;
let functions: TestFunctions;
beforeAll(async () => {
  door = await TestDoor.open(all());
  functions = new TestFunctions(door);
});
afterAll(() => door.close());

let count = 0;

/** @returns its name */
async function put(value: string, name = `secret-${++count}`): Promise<string> {
  const response = await door.call('PUT', `/v1/secrets/${name}`, { value });
  expect(response.status).toBeOneOf([200, 201]);
  return name;
}

async function told(name: string) {
  return (await (await door.call('GET', `/v1/secrets/${name}`)).json()) as {
    version: number;
    versions: { version: number }[];
    uses: { version: number; runId: string; attempt: number }[];
  };
}

test('a function finds its secrets, in a variable and in a file of a tmpfs that its user alone reads', async () => {
  const [variable, file] = [await put('v@riable-1'), await put('f1le\ncontent-2\n')];
  const script = [
    '[ "$TOKEN" = v@riable-1 ] && echo variable',
    '[ "$(cat "$MAYFLY_SECRETS/tls.key")" = "$(printf "f1le\\ncontent-2")" ] && echo file',
    'stat -c "%a %U %F" "$MAYFLY_SECRETS/tls.key"; stat -f -c %T "$MAYFLY_SECRETS"; id -un',
  ].join('\n');
  const secrets = [
    { name: variable, env: 'TOKEN' },
    { name: file, file: 'tls.key' },
  ];
  const run = await functions.run(await functions.deploy(script, { secrets }));
  const output = await functions.output(run.id);
  expect(output).toBe('variable\nfile\n400 sandbox regular file\ntmpfs\nsandbox\n');
  expect(run).toMatchObject({
    outcome: 'succeeded',
    attempts: [
      {
        secrets: [
          { name: variable, version: 1 },
          { name: file, version: 1 },
        ],
      },
    ],
  });
  expect((await told(file)).uses).toMatchObject([{ version: 1, runId: run.id, attempt: 1 }]);
  const [attempt] = run.attempts;
  expect(await all().store.attemptSecrets.get(attempt?.commandId ?? '')).toBeNull();
});

test('a secret that is put between two attempts is given to the second (case 54)', async () => {
  const name = await put('first-value-1');
  const command = 'printf %s "$TOKEN" | rev; [ $MAYFLY_ATTEMPT = 2 ] || exit 75';
  const retry = { maxAttempts: 2, on: [], backoff: { initialSeconds: 2, jitter: false } };
  const deployed = await functions.deploy(command, { idempotent: true, retry, secrets: [{ name, env: 'TOKEN' }] });
  const { id } = await functions.trigger(deployed);
  await functions.until(id, ({ waitingFor }) => waitingFor === 'retry');
  await put('second-value-2', name);
  const run = await functions.over({ id });
  expect(run.attempts.map(({ secrets }) => secrets)).toEqual([[{ name, version: 1 }], [{ name, version: 2 }]]);
  expect(await functions.output(id)).toBe('2-eulav-dnoces');
  expect(await told(name)).toMatchObject({ version: 2, uses: [{ version: 2 }, { version: 1 }] });
});

test('a secret that is deleted keeps its functions from being started, and says so', async () => {
  const name = await put('a-value-1');
  const deployed = await functions.deploy('echo began', { secrets: [{ name, env: 'TOKEN' }] });
  expect((await door.call('DELETE', `/v1/secrets/${name}`)).status).toBe(204);
  const run = await functions.run(deployed);
  expect(run).toMatchObject({ outcome: 'not-started', startedAt: null, failure: { code: 'secret_not_found' } });
  expect(run.failure?.message).toContain(name);
  await put('another-2', name);
  expect(await functions.run(deployed)).toMatchObject({ attempts: [{ secrets: [{ name, version: 2 }] }] });
});

alone('a worker that is stopped in the middle of a secret goes on with what is masked', async () => {
  const name = await put('secret-value-1');
  const command = `printf 'before sec'; until [ -e go ]; do sleep 0.1; done; printf 'ret-value-1 after'`;
  const run = await functions.trigger(await functions.deploy(command, { secrets: [{ name, env: 'TOKEN' }] }));
  await eventually(
    () => functions.output(run.id),
    (text) => text === 'before ',
  );
  await all().host?.stop();
  await all().startHost();
  const [attempt] = (await functions.get(run.id)).attempts;
  const root = join(all().config.stateDir, 'sandboxes', attempt?.sandboxId ?? '', 'root');
  await writeFile(join(root, FILES_FOLDER, 'go'), '');
  expect(await functions.over(run)).toMatchObject({ outcome: 'succeeded' });
  expect(await functions.output(run.id)).toBe('before *** after');
});
