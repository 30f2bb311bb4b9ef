import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MayflyClient } from '../../client/mayfly-client.ts';
import { repository } from '../../worker/config/artifacts.mjs';
import { MayflyProcess, noProcessOf } from '../support/mayfly-process.ts';

/** What a simulated host refuses, and how: its guests are process trees, which have no memory to save. */
const NOT_SIMULATED = new Map([['--full', 'memory']]);

let folder: string;
let up: MayflyProcess;
let client: MayflyClient;
let url: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-readme-'));
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, 'src', 'file'), 'x');
  await writeFile(join(folder, 'variables'), '');
  env = {
    MAYFLY_HOST: 'simulated',
    MAYFLY_HOST_ID: 'readme',
    MAYFLY_STATE_DIR: join(folder, 'state'),
    MAYFLY_API_PORT: '0',
    MAYFLY_LOG_LEVEL: 'error',
    MONGODB_URI: '',
    TEMPORAL_ADDRESS: '',
  };
  up = new MayflyProcess(['up', '--json'], env);
  const served = await up.serves();
  url = served.baseUrl;
  client = new MayflyClient(served);
});
afterAll(async () => {
  const { items } = await client.listSandboxes({ alive: true });
  await Promise.all(items.map(({ id }) => client.destroySandbox(id)));
  await up?.end('SIGINT');
  await noProcessOf(folder);
  await rm(folder, { recursive: true, force: true });
});

/** The README's n-th block in a language after a heading. */
async function blockOf(heading: string, language: string, nth: number): Promise<string> {
  const page = await readFile(join(repository, 'README.md'), 'utf8');
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const blocks = section.matchAll(/```(\w+)\n(.*?)```/gs);
  return [...blocks].filter((block) => block[1] === language)[nth]?.[2] ?? '';
}

/** The commands of the README's n-th block of shell after a heading, a line each. */
async function commandsOf(heading: string, nth: number): Promise<string[]> {
  const block = await blockOf(heading, 'sh', nth);
  const lines = block.replace(/\\\n\s*/g, '').split('\n');
  return lines.filter((line) => line.trim() !== '');
}

/** As typed into one shell, one after the other: what one sets, the next has. */
function typed(command: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const script = `. '${folder}/variables'; ${command}\ncode=$?; declare -p KEY > '${folder}/variables' 2>/dev/null; exit $code`;
  const child = { cwd: folder, env: { ...process.env, ...env, NO_COLOR: '1' } };
  return new Promise((resolve) => {
    execFile('bash', ['-c', script], child, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr });
    }).stdin?.end();
  });
}

/** Runs the lines with the ids that those before have printed. */
async function runAll(commands: string[]): Promise<void> {
  let [sandbox, snapshot] = ['sbx-…', 'snp-…'];
  for (const command of commands) {
    const line = command
      .replaceAll('sbx-…', sandbox)
      .replaceAll('snp-…', snapshot)
      .replaceAll('bin/mayfly', join(repository, 'bin', 'mayfly'))
      .replaceAll('http://127.0.0.1:7999', url);
    const { code, stdout, stderr } = await typed(line);
    const refusal = [...NOT_SIMULATED].find(([option]) => command.includes(option))?.[1];
    if (refusal) expect([code > 0, stdout], command).toEqual([true, expect.stringContaining(refusal)]);
    else expect([code, stderr.includes('mayfly: ')], `${command}\n${stdout}${stderr}`).toEqual([0, false]);
    if (/sandbox create|\/v1\/sandboxes -H/.test(command)) sandbox = /sbx-[0-9a-z]{16}/.exec(stdout)?.[0] ?? sandbox;
    if (!refusal && command.includes('snapshot create')) snapshot = /snp-[0-9a-z]{16}/.exec(stdout)?.[0] ?? snapshot;
  }
}

// Promise: the README's first use runs as it stands. Costs 20 s; the lines that start and end an installation are other tests'.
test('the commands of the first use', async () => {
  const commands = await commandsOf('First use', 1);
  expect(commands.length).toBeGreaterThan(8);
  await runAll(commands);
});

test('the same over HTTP', async () => {
  const commands = await commandsOf('First use', 2);
  expect(commands.length).toBeGreaterThan(3);
  await runAll(commands);
});

// Promise: the client is installed and imported by plain Node, as the README says. Costs 10 s, most of it the compiler's.
test('from JavaScript', async () => {
  const project = join(folder, 'project');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "type": "module" }');
  const [build = '', install = ''] = await commandsOf('First use', 3);
  const offline = `${install.replace('./dist', join(repository, 'dist')).replace(/ #.*/, '')} --offline --no-audit --no-fund`;
  const program = await blockOf('First use', 'js', 0);
  await writeFile(join(project, 'first.js'), program.replace('http://127.0.0.1:7999', url));
  const { secret } = await client.createKey({
    name: 'from JavaScript',
    scopes: ['sandboxes:read', 'sandboxes:write'],
  });
  for (const command of [`cd '${repository}'; ${build}`, `cd '${project}'; ${offline}`]) {
    const { code, stdout, stderr } = await typed(command);
    expect(code, `${command}\n${stdout}${stderr}`).toBe(0);
  }
  const { code, stdout, stderr } = await typed(`cd '${project}'; KEY='${secret}' ${process.execPath} first.js`);
  expect([code, stderr], stdout).toEqual([0, '']);
  expect(stdout).toMatch(/^Linux /);
});
