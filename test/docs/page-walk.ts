import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { runCli } from '../../cli/main.ts';
import { Io } from '../../cli/terminal/io.ts';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { makeKeyPair } from '../../host/ssh/key-pair.ts';
import { cacheDir, repository } from '../../worker/config/artifacts.mjs';
import { MayflyProcess, noProcessOf } from '../support/mayfly-process.ts';

const run = promisify(execFile);
const HOST_ID = 'pages';

export interface Typed {
  code: number;
  stdout: string;
  stderr: string;
  /** Status of curl's last answer; null: no request. */
  status: number | null;
}

/** Makes curl print the status, since it does not fail on a refusal. */
const CURL = `curl() { command curl -sS -w '%{stderr}HTTP %{http_code}\\n' "$@"; }`;

const MAKES_SANDBOXES = /\b(create|fork|claim|run|restore)\b|POST|-d |--json /;

/** Simulated installation with a home, and a folder to work in. */
export class Installation {
  readonly env: NodeJS.ProcessEnv;

  private constructor(
    readonly folder: string,
    private readonly up: MayflyProcess,
    readonly client: MayflyClient,
    readonly url: string,
    env: NodeJS.ProcessEnv,
  ) {
    this.env = env;
  }

  static async start(): Promise<Installation> {
    const folder = await mkdtemp(join(tmpdir(), 'mayfly-pages-'));
    await mkdir(join(folder, 'src'));
    await writeFile(join(folder, 'src', 'file'), 'x');
    const dockerfile = 'FROM debian:12\nENV GREETING=hello\nCOPY file /srv/\nRUN echo "$GREETING" >/srv/greeting\n';
    await writeFile(join(folder, 'Dockerfile'), dockerfile);
    await writeFile(join(folder, 'data.bin'), Buffer.from([0, 255, 10]));
    await mkdir(join(folder, '.ssh'), { mode: 0o700 });
    await writeFile(join(folder, '.ssh', 'id_ed25519.pub'), `${makeKeyPair('somebody').publicKey}\n`);
    const env = {
      MAYFLY_HOST: 'simulated',
      MAYFLY_HOST_ID: HOST_ID,
      MAYFLY_STATE_DIR: join(folder, 'state'),
      MAYFLY_API_PORT: '0',
      MAYFLY_LOG_LEVEL: 'error',
      MONGODB_URI: '',
      TEMPORAL_ADDRESS: '',
    };
    const up = new MayflyProcess(['up', '--json'], env);
    const served = await up.serves().catch(async (error: unknown) => {
      await up.end('SIGKILL');
      await rm(folder, { recursive: true, force: true });
      throw error;
    });
    const cache = { XDG_CACHE_HOME: dirname(cacheDir()) }; // keeps the cache of CLI scripts in spite of another home
    const typed = {
      ...env,
      ...cache,
      HOME: folder,
      NO_COLOR: '1',
      MAYFLY_URL: served.baseUrl,
      MAYFLY_API_KEY: served.apiKey,
    };
    return new Installation(folder, up, new MayflyClient(served), served.baseUrl, typed);
  }

  get images(): string {
    return join(this.folder, 'state', 'images');
  }

  /** Destroys live sandboxes. @param ids only these. `@default` all */
  async clear(ids?: ReadonlySet<string>): Promise<void> {
    const { items } = await this.client.listSandboxes({ alive: true });
    const ending = items.filter(({ id }) => !ids || ids.has(id));
    await Promise.all(ending.map(({ id }) => this.client.destroySandbox(id)));
  }

  async end(): Promise<void> {
    await this.clear();
    for (const { name, problem } of (await this.client.listSources()).items) {
      if (problem !== null) await this.client.sources.stop(name, { force: true });
    }
    await this.up.end('SIGINT');
    await noProcessOf(this.folder);
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Types a page's lines into one shell, in sequence: variables persist. */
export class PageWalk {
  /** Last printed id for each placeholder of a page. */
  readonly #ids = new Map<string, string>();
  readonly #sandboxes = new Set<string>();
  readonly #variables: string;

  constructor(
    private readonly installation: Installation,
    private readonly page: string,
  ) {
    this.#variables = join(installation.folder, `${page.replaceAll('/', '-')}.variables`);
  }

  /** Runs a single `mayfly …` in this process, unless README's reads standard input; other lines run the program. */
  async type(line: string): Promise<Typed> {
    const [command = ''] = line.split(' #');
    const isAlone = line.startsWith('mayfly ') || /^bin\/mayfly (?!run |ssh )[^|<>()]*$/.test(command);
    const typed = await (isAlone ? this.#inProcess(line) : this.#inShell(line));
    if (typed.code === 0) this.#remember(line, typed.stdout);
    // Lists show sandboxes of other pages too.
    if (MAKES_SANDBOXES.test(line)) {
      for (const [id] of typed.stdout.matchAll(/\bsbx-[0-9a-z]{16}\b/g)) this.#sandboxes.add(id);
    }
    return typed;
  }

  get #cwd(): string {
    return this.page === 'CONTRIBUTING.md' ? repository : this.installation.folder;
  }

  async #inProcess(line: string): Promise<Typed> {
    const env = { ...process.env, ...this.installation.env };
    const { stdout: words } = await run('bash', ['-c', `printf '%s\\0' ${this.#filled(line)}`]);
    const [out, err]: [Buffer[], Buffer[]] = [[], []];
    const stdout = { write: (text: string | Uint8Array) => out.push(Buffer.from(text as Uint8Array)) };
    const stderr = { write: (text: string | Uint8Array) => err.push(Buffer.from(text as Uint8Array)) };
    const { signal } = new AbortController();
    const io = new Io({ stdout, stderr, env, signal, force: signal });
    const before = process.cwd();
    process.chdir(this.#cwd);
    const code = await runCli(words.split('\0').slice(1, -1), io).finally(() => process.chdir(before));
    return { code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString(), status: null };
  }

  async #inShell(line: string): Promise<Typed> {
    const { env } = this.installation;
    const script = `${CURL}\n[ ! -e '${this.#variables}' ] || . '${this.#variables}'
${this.#given()}
${this.#filled(line)}
code=$?; declare -p KEY HOOK > '${this.#variables}' 2>/dev/null; exit $code`;
    const child = { cwd: this.#cwd, env: { ...process.env, ...env }, maxBuffer: 16 * 1024 * 1024 };
    return await new Promise<Typed>((resolve) => {
      execFile('bash', ['-c', script], child, (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : error ? -1 : 0;
        const status = [...stderr.matchAll(/^HTTP (\d+)$/gm)].at(-1)?.[1];
        resolve({ code, stdout, stderr, status: status === undefined ? null : Number(status) });
      }).stdin?.end();
    });
  }

  /** Destroys its sandboxes. */
  async clear(): Promise<void> {
    await this.installation.clear(this.#sandboxes);
  }

  #remember(line: string, stdout: string): void {
    const makes: [RegExp, string, RegExp][] = [
      [/sandbox create|\/v1\/sandboxes"? -H(?!.*snapshotId)/, 'sbx', /sbx-[0-9a-z]{16}/],
      [/snapshot create|\/snapshots" /, 'snp', /snp-[0-9a-z]{16}/],
      [/capture create/, 'cap', /cap-[0-9a-z]{16}/],
      [/image build/, 'img', /img-[0-9a-z]{16}/],
    ];
    for (const [command, kind, pattern] of makes) {
      const id = command.test(line) ? pattern.exec(stdout)?.[0] : undefined;
      if (id === undefined) continue;
      const before = this.#ids.get(kind);
      if (before !== undefined) this.#ids.set(`before ${kind}`, before);
      this.#ids.set(kind, id);
    }
    const key = /key list/.test(line) ? /^(?!ID\b)\S+/m.exec(stdout)?.[0] : undefined;
    if (key) this.#ids.set('key', key);
  }

  /** Returns the variables that the pages use. */
  #given(): string {
    const id = (kind: string) => this.#ids.get(kind) ?? this.#ids.get(kind.replace('before ', '')) ?? '';
    return `ID=${id('sbx')} SNAPSHOT=${id('snp')} A=${id('before snp')} B=${id('snp')}`;
  }

  #filled(line: string): string {
    const id = (kind: string) => this.#ids.get(kind) ?? `no ${kind} yet`;
    const stands: [string | RegExp, string][] = [
      ['sbx-…', id('sbx')],
      ['snp-…', id('snp')],
      ['cap-…', id('cap')],
      ['img-…', id('img')],
      [/<id>|<sandbox>/g, id('sbx')],
      ['<snapshot>', id('snp')],
      ['<key id>', id('key')],
      ['<name>', 'baked-here'],
      ['<host>', HOST_ID],
      ['<source>', 'golden-debian12'],
      ['key create …', 'key create somebody'],
      [/^(?:sudo )?(?:bin\/)?mayfly /, `${join(repository, 'bin', 'mayfly')} `],
      ['$(bin/mayfly', `$(${join(repository, 'bin', 'mayfly')}`],
      ['http://127.0.0.1:7999', this.installation.url],
    ];
    return stands.reduce(
      (text, [from, to]) => text.replaceAll(typeof from === 'string' ? from : new RegExp(from, 'g'), to),
      line,
    );
  }
}
