import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { FILES_FOLDER } from '../../../model/functions/guest-layout.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import { runWorkflowId } from '../../../model/functions/run-saga.ts';
import { buildStatement } from '../../../model/receipts/statement.ts';
import { commandWorkflowIdOf } from '../../../model/sandbox/command-saga.ts';
import { listSecretForms } from '../../../model/secrets/secret-forms.ts';
import { receiptFacts } from '../../../worker/receipts/receipt-facts.ts';
import { useTestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { TestFunctions } from '../../support/functions.ts';
import { valuesInHistory } from '../../support/history-values.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

/** Secrets of functions, and their redaction. */
const { test, alone, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const functions = new TestFunctions(door);

let count = 0;

/** Stores a secret, and returns its name. */
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

test('a function gets its secrets in a variable and in a tmpfs file that only its user can read', async () => {
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

test('a secret that changes between two attempts reaches the second (case 54)', async () => {
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
  const record = await all().store.runs.get(id);
  const statement = buildStatement(await receiptFacts(all().store, record as RunRecord, 'urn:test'));
  expect(statement.predicate.buildDefinition.internalParameters['secrets']).toEqual([
    { name, version: 1, attempt: 1 },
    { name, version: 2, attempt: 2 },
  ]);
  expect(await told(name)).toMatchObject({ version: 2, uses: [{ version: 2 }, { version: 1 }] });
});

test('a deleted secret prevents the start of its functions, with the reason', async () => {
  const name = await put('a-value-1');
  const deployed = await functions.deploy('echo began', { secrets: [{ name, env: 'TOKEN' }] });
  expect((await door.call('DELETE', `/v1/secrets/${name}`)).status).toBe(204);
  const run = await functions.run(deployed);
  expect(run).toMatchObject({ outcome: 'not-started', startedAt: null, failure: { code: 'secret_not_found' } });
  expect(run.failure?.message).toContain(name);
  await put('another-2', name);
  expect(await functions.run(deployed)).toMatchObject({ attempts: [{ secrets: [{ name, version: 2 }] }] });
});

const PEM = ['-----BEGIN KEY-----', 'q1W2e3R4t5Y6u7I8o9P0', 'z9X8c7V6b5N4m3', '-----END KEY-----'].join('\n');
/** Ten secrets, each printed in every form. */
const PLANTED = [
  'canary-plain-01',
  'c@nary/with+signs=02',
  'canary "quoted" 03',
  'canary\\back\\slash-04',
  'canäry-ümlaut-05',
  'canary with blanks 06',
  'CANARY_UPPER_07',
  '0123456789-08',
  `canary-${'long'.repeat(40)}-09`,
  PEM,
];
const PRINTS = `
import base64, json, os, sys, urllib.parse
out = sys.stdout.buffer
for n in range(10):
    value = os.environ['SECRET_%d' % n]
    raw = value.encode()
    for half in (raw[:len(raw) // 2], raw[len(raw) // 2:] + b'\\n'):
        out.write(half); out.flush()
    for form in [json.dumps({'a': value}), json.dumps(value, ensure_ascii=False), urllib.parse.quote(value, safe=''),
                 urllib.parse.quote(value), urllib.parse.quote_plus(value), raw.hex(), raw.hex().upper(),
                 json.dumps({'b': base64.b64encode(raw).decode()})] + value.split('\\n') + [
                 each(b'x' * shift + raw + b'tail').decode() for shift in range(3)
                 for each in (base64.b64encode, base64.urlsafe_b64encode)]:
        out.write(form.encode() + b'\\n'); sys.stderr.write(form + '\\n')
    out.write(base64.encodebytes(raw)); out.flush()
open(os.environ['MAYFLY_RESULT'], 'w').write(json.dumps([os.environ['SECRET_%d' % n] for n in range(10)]))
open(os.environ['MAYFLY_RESULT'] + '.type', 'w').write('text/' + os.environ['SECRET_0'])
open(os.environ['MAYFLY_ARTIFACTS'] + '/' + os.environ['SECRET_0'], 'w').write('x')
`;

/** Returns the planted secrets that a text contains in any form. */
function foundIn(text: string): string[] {
  const bytes = Buffer.from(text);
  return PLANTED.filter((value) => listSecretForms(value).some((form) => bytes.includes(Buffer.from(form.bytes))));
}

test('ten secrets that are printed in all forms appear nowhere (case 52)', async () => {
  const names: string[] = [];
  for (const value of PLANTED) names.push(await put(value));
  const secrets = names.map((name, n) => ({ name, env: `SECRET_${n}` }));
  const name = await functions.deploy('python3 print.py', { secrets }, { 'print.py': PRINTS });
  const run = await functions.run(name);
  const [output, errors] = [await functions.output(run.id), await functions.output(run.id, 'stderr')];
  const result = await (await functions.result(run.id)).text();
  const [attempt] = run.attempts;
  expect(run).toMatchObject({ outcome: 'failed', exitCode: 0, failure: { code: 'result_invalid' } }); // its type contains a secret
  expect(output.match(/\*\*\*/g)?.length).toBeGreaterThan(100);
  expect(result).toBe(JSON.stringify(PLANTED.map(() => '***')).replaceAll(',', ', '));
  expect(createHash('sha256').update(result).digest('hex')).toBe(run.result?.digest);
  const command = await all().store.commands.get(attempt?.commandId ?? '');
  const audit = await (await door.call('GET', `/v1/runs/${run.id}/audit`)).text();
  const told = { output, errors, result, run: JSON.stringify(run), command: JSON.stringify(command), audit };
  const found = Object.entries(told).map(([where, text]) => [where, foundIn(text)]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(Object.keys(told).map((where) => [where, []])));
  for (const workflowId of [runWorkflowId(run.id), commandWorkflowIdOf(attempt?.commandId ?? '')]) {
    const values = await valuesInHistory(all().client, workflowId);
    expect(values.length).toBeGreaterThan(5);
    expect(foundIn(JSON.stringify(values))).toEqual([]);
  }
});

alone('a worker that is stopped in the middle of a secret goes on with what is masked', async () => {
  const name = await put('secret-value-1');
  const command = `printf 'before sec'; until [ -e go ]; do sleep 0.1; done; printf 'ret-value-1 after'`;
  const run = await functions.trigger(await functions.deploy(command, { secrets: [{ name, env: 'TOKEN' }] }));
  await eventually(() => functions.output(run.id), 'before ');
  await all().host?.stop();
  await all().startHost();
  const [attempt] = (await functions.get(run.id)).attempts;
  const root = join(all().config.stateDir, 'sandboxes', attempt?.sandboxId ?? '', 'root');
  await writeFile(join(root, FILES_FOLDER, 'go'), '');
  expect(await functions.over(run)).toMatchObject({ outcome: 'succeeded' });
  expect(await functions.output(run.id)).toBe('before *** after');
});
