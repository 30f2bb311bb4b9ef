import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repository } from '../../../../worker/config/artifacts.mjs';
import { textOf } from '../../../docs/documented.ts';
import { Installation } from '../../../docs/page-walk.ts';
import { useFolder } from '../../../support/use-folder.ts';

const run = promisify(execFile);
const TSC = join(repository, 'node_modules', '.bin', 'tsc');
const folder = useFolder();
let tarball: string;
let here: Installation | undefined;

/** Settings of a foreign project: no packages of this repository, and no types of Node. */
const TSCONFIG = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ES2022', 'ESNext.Disposable', 'DOM', 'DOM.AsyncIterable'],
    module: 'NodeNext',
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
  },
  files: ['program.ts', 'documented.ts'],
};

const PROGRAM = `
import { Mayfly, MayflyApiError, type Ran } from '@mayfly/client';

declare const process: { env: Record<string, string> };
const mayfly = new Mayfly({ baseUrl: process.env['URL'] ?? '', apiKey: process.env['KEY'] ?? '' });
let id = '';
let told: unknown;
try {
  await using sandbox = await mayfly.create({ source: 'golden-debian12', ttlSeconds: 600 });
  id = sandbox.id;
  const ran: Ran = await sandbox.run('echo hello; exit 3');
  console.log(ran.exitCode, ran.stdout.trim());
  throw new Error('of the block');
} catch (error) {
  told = error;
}
console.log((told as Error).message);
const { state, proof } = await mayfly.getSandbox(id);
console.log(state, proof !== null);
// @ts-expect-error a wait is no part of what is asked for
await mayfly.createSandbox({ source: 'x', waitSeconds: 60 }).catch((error) => console.log(error.code));
// @ts-expect-error and a lifetime none of how long is waited
const lost = await mayfly.create({ source: 'no-such' }, { ttlSeconds: 60 }).catch((error) => error);
console.log(lost instanceof MayflyApiError && lost.code);
`;

beforeAll(async () => {
  await run('npm', ['run', '-s', 'client'], { cwd: repository });
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: join(repository, 'dist', 'client'),
  });
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
  tarball = join(folder, filename);
  here = await Installation.start();
});
afterAll(async () => {
  await here?.end();
});

test('publint and arethetypeswrong find nothing, and it imports only Node', async () => {
  const bytes = await readFile(tarball);
  const pkg = JSON.parse(await readFile(join(repository, 'dist', 'client', 'package.json'), 'utf8')) as object;
  const { messages } = await publint({ pack: { tarball: Uint8Array.from(bytes).buffer }, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);

  const checked = await checkPackage(createPackageFromTarballData(bytes));
  const problems = checked.types && 'problems' in checked ? checked.problems : [];
  expect(checked.types).not.toBe(false);
  // ESM alone: Node reports require() itself, and resolvers without exports find no entry.
  const meant = ['CJSResolvesToESM', 'NoResolution'];
  const isMeant = (problem: (typeof problems)[number]) =>
    meant.includes(problem.kind) && 'resolutionKind' in problem && /node10|node16-cjs/.test(problem.resolutionKind);
  expect(problems.filter((problem) => !isMeant(problem))).toEqual([]);

  const { stdout: names } = await run('tar', ['-tzf', tarball]);
  expect(names).not.toMatch(/\/(?:api|store|worker|host|sagas|activities|workflows)\//);
  const { stdout: text } = await run('tar', ['-xzOf', tarball]);
  const imported = [...text.matchAll(/^(?:import|export) .*from '([^.'][^']*)'/gm)].map(([, name]) => name);
  expect(new Set(imported)).toEqual(new Set(['node:crypto', 'node:timers/promises']));
});

test('a foreign project installs, checks, compiles and runs it: the block ends its sandbox', async () => {
  const project = join(folder, 'project');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "type": "module" }');
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  await writeFile(join(project, 'program.ts'), PROGRAM);
  const [, documented = ''] = /```ts\n(.*?)```/s.exec(textOf('docs/clients.md')) ?? [];
  await writeFile(
    join(project, 'documented.ts'),
    `declare const process: { env: Record<string, string> };\n${documented}`,
  );
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: project });
  const compiled = await run(TSC, [], { cwd: project }).catch((error: { stdout?: string }) => error);
  expect(compiled.stdout).toBe('');
  const env = { ...process.env, ...here?.env, URL: here?.url ?? '', KEY: here?.env['MAYFLY_API_KEY'] ?? '' };
  const documentedRun = await run(process.execPath, ['documented.js'], { cwd: project, env });
  expect(documentedRun).toEqual({ stdout: expect.stringMatching(/^0 2 \/tmp\/names\nstdout 1\n/), stderr: '' });
  const { stdout, stderr } = await run(process.execPath, ['program.js'], { cwd: project, env });
  expect([stdout.trim().split('\n'), stderr]).toEqual([
    ['3 hello', 'of the block', 'destroyed true', 'invalid_request', 'source_not_found'],
    '',
  ]);
});
