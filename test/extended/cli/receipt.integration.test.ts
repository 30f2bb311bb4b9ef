import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { beforeAll, describe, expect } from 'vitest';
import { replaceReceiptKey } from '../../../ca/receipt-key.ts';
import { deriveAttemptIds } from '../../../model/functions/run.ts';
import type { Statement } from '../../../model/receipts/in-toto.ts';
import type { Envelope } from '../../../model/receipts/receipt.ts';
import { readyAttestationTools } from '../../../scripts/setup/python/attestation-tools.mjs';
import { ReceiptSigner } from '../../../worker/receipts/receipt-watch.ts';
import { textOf } from '../../docs/documented.ts';
import { useCommandLine } from '../../support/command-line.ts';
import { type Run, TestFunctions } from '../../support/functions.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { useFolder } from '../../support/use-folder.ts';

const { test, alone, mayfly: all } = useSagaCases();
const { cli, door } = useCommandLine(all);
const run = promisify(execFile);
const folder = useFolder();
let keyFile: string;
let functions: TestFunctions;
let watch: ReceiptSigner;
/** Run with every kind of output. */
let over: Run;

beforeAll(async () => {
  functions = new TestFunctions(door());
  watch = new ReceiptSigner(all().store, signingKey(), pino({ level: 'silent' }));
  await watch.look();
  keyFile = join(folder, 'keys.pem');
  await writeFile(keyFile, (await cli('receipt', 'keys')).out);
  over = await ran(LEAVES, { diff: true });
});

const signingKey = () => join(all().config.stateDir, 'control', 'receipt.key');
const LEAVES = 'echo out; echo err >&2; echo \'{"n":1}\' > $MAYFLY_RESULT; echo a > $MAYFLY_ARTIFACTS/a.txt';

async function ran(command: string, more: object = {}): Promise<Run> {
  const ended = await functions.run(await functions.deploy(command, more), { n: 1 });
  await watch.look();
  return ended;
}

async function receiptOf({ id }: Pick<Run, 'id'>): Promise<Envelope> {
  const response = await door().call('GET', `/v1/runs/${id}/receipt`);
  expect(response.status).toBe(200);
  return (await response.json()) as Envelope;
}

function statementIn({ payload }: Envelope): Statement {
  return JSON.parse(Buffer.from(payload, 'base64').toString()) as Statement;
}

/** Saves the receipt of a run with all that it covers, and returns the folder. */
async function saved({ id }: Pick<Run, 'id'>, name = id): Promise<string> {
  const path = join(folder, name);
  expect(await cli('receipt', 'get', id, '--save', path)).toMatchObject({ code: 0 });
  return path;
}

const verified = (path: string, ...more: string[]) => cli('receipt', 'verify', path, '--key', keyFile, ...more);

test('the outcome, output and cleanup of a run are signed once', async () => {
  const envelope = await receiptOf(over);
  const { subject, predicate } = statementIn(envelope);
  expect(subject.map(({ name }) => name)).toEqual(['result', 'artifacts/a.txt']);
  expect(predicate.runDetails.metadata).toMatchObject({
    invocationId: over.id,
    mayfly_run: { outcome: 'succeeded', exitCode: 0, cleanup: 'proved', attempts: [{ n: 1, cleanup: 'proved' }] },
  });
  const audit = await all().store.audit.entries(over.id, { limit: 10 });
  const last = audit.at(-1);
  expect(last?.body).toContain('run.cleaned');
  expect(predicate.runDetails.metadata.mayfly_auditHead).toEqual({ entries: audit.length, hash: last?.hash });
  const { sandboxId } = deriveAttemptIds(over.id, 1);
  expect(predicate.runDetails.byproducts.map(({ name }) => name)).toEqual([
    'attempt-1/stdout',
    'attempt-1/stderr',
    'diff',
    `proofs/${sandboxId}.json`,
  ]);
  expect(predicate.buildDefinition.resolvedDependencies).toContainEqual({
    name: 'source',
    uri: 'urn:mayfly:source:golden-debian12',
    digest: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  const path = await saved(over, 'whole');
  expect((await readdir(path, { recursive: true })).length).toBe(11);
  expect(await verified(path)).toMatchObject({ code: 0, out: expect.stringContaining('succeeded, cleanup proved') });
  await all().store.runs.free(over.id, { cleanup: 'proved' }); // as a worker that was killed before it was notified
  await watch.look();
  expect(await receiptOf(over)).toEqual(envelope);
});

test('openssl alone verifies a receipt by docs/receipts-audit.md, and a changed one fails', async () => {
  const [, block = ''] = /## By hand.*?```sh\n(.*?)```/s.exec(textOf('docs/receipts-audit.md')) ?? [];
  const [fetched = '', ...steps] = block.split('\n');
  expect(fetched).toMatch(/^curl .* > receipt\.json$/);
  const cwd = await mkdtemp(join(folder, 'by-hand-'));
  const envelope = await receiptOf(over);
  const byHand = async (receipt: Envelope) => {
    await writeFile(join(cwd, 'receipt.json'), JSON.stringify(receipt));
    await writeFile(join(cwd, 'keys.pem'), await readFile(keyFile));
    return run('bash', ['-c', steps.join('\n')], { cwd });
  };
  const { stdout } = await byHand(envelope);
  const { keyid } = envelope.signatures[0] ?? {};
  expect(stdout.trim().split('\n')).toEqual([`${keyid}  -`, keyid, 'Signature Verified Successfully']);
  expect(JSON.parse(await readFile(join(cwd, 'statement.json'), 'utf8'))).toEqual(statementIn(envelope));
  const statement = JSON.stringify({ ...statementIn(envelope), subject: [] });
  const changed = { ...envelope, payload: Buffer.from(statement).toString('base64') };
  await expect(byHand(changed)).rejects.toMatchObject({ code: 1 });
});

describe('62: one byte is changed', () => {
  const changes: [what: string, file: string][] = [
    ['the result', 'result'],
    ['what its process changed', 'diff'],
    ['the event', 'event.json'],
    ['a log', 'attempt-1/stderr'],
    ['an artifact', 'artifacts/a.txt'],
    ['the proof', 'proofs'],
  ];
  test.each(changes)('in %s: verify names it', async (what, file) => {
    const path = await saved(over, `changed ${what}`);
    const name = file === 'proofs' ? `proofs/${deriveAttemptIds(over.id, 1).sandboxId}.json` : file;
    const bytes = await readFile(join(path, name));
    bytes.writeUInt8(bytes.readUInt8(0) ^ 1, 0);
    await writeFile(join(path, name), bytes);
    const { code, out } = await verified(path, '--json');
    const { files } = JSON.parse(out) as { files: { name: string; found: string }[] };
    expect({ code, wrong: files.filter(({ found }) => found !== 'same') }).toEqual({
      code: 1,
      wrong: [{ name, found: 'differs' }],
    });
  });

  test('in the receipt itself, at any place: the receipt is not valid', async () => {
    const path = join(folder, 'changed receipt');
    const envelope = await receiptOf(over);
    const [signature] = envelope.signatures;
    if (!signature) throw new Error('it is not signed');
    const flipped = (text: string, at: number) =>
      `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
    const forged: Envelope[] = [
      ...[0, 100, envelope.payload.length - 3].map((at) => ({ ...envelope, payload: flipped(envelope.payload, at) })),
      { ...envelope, payloadType: `${envelope.payloadType} ` },
      { ...envelope, signatures: [{ ...signature, sig: flipped(signature.sig, 5) }] },
      { ...envelope, signatures: [{ ...signature, keyid: flipped(signature.keyid, 5) }] },
    ];
    for (const each of forged) {
      await writeFile(path, JSON.stringify(each));
      expect(await verified(path)).toMatchObject({ code: 1, out: expect.stringContaining('not valid') });
    }
  });

  test('in the store, after it was signed: the fetched content differs', async () => {
    const run62 = await ran(LEAVES);
    await all().store.runContents.put(run62.id, 'result', Buffer.from('{"n":2}\n'));
    await all().store.runs.change(run62.id, ['ended'], { outcome: 'failed', exitCode: 1 });
    await all().store.runs.free(run62.id, { cleanup: 'proved' });
    await watch.look();
    const { code, out } = await verified(await saved(run62, 'changed store'), '--json');
    const { files, statement } = JSON.parse(out) as {
      files: { name: string; found: string }[];
      statement: Statement;
    };
    expect(statement.predicate.runDetails.metadata).toMatchObject({ mayfly_run: { outcome: 'succeeded' } });
    expect({ code, wrong: files.filter(({ found }) => found !== 'same') }).toEqual({
      code: 1,
      wrong: [{ name: 'result', found: 'differs' }],
    });
  });
});

test('a missing file, and one that the receipt does not cover, are named', async () => {
  const path = await saved(over, 'missing');
  await rm(join(path, 'result'));
  await writeFile(join(path, 'artifacts', 'b.txt'), 'b');
  const { code, out } = await verified(path);
  expect({ code, out }).toEqual({ code: 1, out: expect.stringContaining('missing result') });
  expect(out).toContain('not of the receipt artifacts/b.txt');
});

test('a run without output, and one that never started, have a receipt too', async () => {
  const nothing = await ran('exit 3');
  expect(statementIn(await receiptOf(nothing)).predicate.runDetails.metadata).toMatchObject({
    mayfly_run: { outcome: 'failed', exitCode: 3, failure: 'run_failed' },
  });
  expect(await verified(await saved(nothing))).toMatchObject({ code: 0 });
  const name = await functions.deploy('true');
  await functions.pause(name);
  const waiting = await functions.trigger(name);
  expect(await (await door().call('GET', `/v1/runs/${waiting.id}/receipt`)).json()).toMatchObject({
    status: 409,
    code: 'run_not_ended',
  });
  await functions.cancel(waiting.id);
  await watch.look();
  const { subject, predicate } = statementIn(await receiptOf(waiting));
  expect(subject).toMatchObject([{ name: 'outcome.json' }]);
  expect(predicate.runDetails.metadata).toMatchObject({ mayfly_run: { outcome: 'cancelled', attempts: [] } });
  expect(await verified(await saved(waiting))).toMatchObject({ code: 0 });
});

test('a run without a proved cleanup has no receipt yet', async ({ mayfly }) => {
  const name = await functions.deploy('true');
  await functions.pause(name);
  const { id } = await functions.trigger(name);
  mayfly.arm('destroyDomain.before=delay(3000)', deriveAttemptIds(id, 1).sandboxId);
  await functions.resume(name);
  await functions.until(id, ({ state }) => state === 'ended');
  await watch.look();
  const response = await door().call('GET', `/v1/runs/${id}/receipt`);
  expect(await response.json()).toMatchObject({ status: 409, code: 'receipt_not_ready', retryable: true });
});

test('third-party libraries verify it: securesystemslib the envelope, in-toto-attestation the statement', async () => {
  const python = readyAttestationTools();
  if (python === null) throw new Error('they are not here: npm run setup -- --only attestation-tools');
  const path = join(folder, 'for others.json');
  const { publicKey } = (await all().store.receiptKeys.list())[0] ?? { publicKey: '' };
  await writeFile(path, JSON.stringify(await receiptOf(over)));
  const verify = join(import.meta.dirname, '../../cli/verify-receipt.py');
  expect((await run(python, [verify, path, publicKey])).stdout).toBe('verified 2 subjects\n');
  const forged = await receiptOf(await ran('true'));
  forged.payload = Buffer.from(
    Buffer.from(forged.payload, 'base64').toString().replace('succeeded', 'cancelled'),
  ).toString('base64');
  await writeFile(path, JSON.stringify(forged));
  await expect(run(python, [verify, path, publicKey])).rejects.toThrow('Accepted signatures do not match threshold');
});

alone('a key is rotated: receipts of before are verified by the old key, which anybody can fetch', async () => {
  const before = await receiptOf(await ran('true'));
  const { keyid } = await replaceReceiptKey(signingKey());
  const after = await receiptOf(await ran('true'));
  expect(after.signatures[0]?.keyid).toBe(keyid);
  const response = await door().app.request('/v1/receipt-keys');
  const { items } = (await response.json()) as { items: { keyid: string; publicKey: string }[] };
  expect(items.map((each) => each.keyid)).toEqual([keyid, before.signatures[0]?.keyid]);
  const id = (envelope: Envelope) => statementIn(envelope).predicate.runDetails.builder.id;
  expect(id(after)).toBe(id(before));
  const path = join(folder, 'after.json');
  await writeFile(path, JSON.stringify(after));
  expect(await verified(path)).toMatchObject({ code: 1, out: expect.stringContaining('and not by') });
  await writeFile(keyFile, (await cli('receipt', 'keys')).out);
  expect(await verified(path)).toMatchObject({ code: 0 });
});
