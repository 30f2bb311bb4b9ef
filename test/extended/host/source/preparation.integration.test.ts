import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { SourceConsole } from '../../../../host/console.ts';
import { SimulatedHypervisor } from '../../../../host/simulated/driver.ts';
import { addSshdSettings } from '../../../../host/source/admission.ts';
import { claimSource } from '../../../../host/source/gate.ts';
import { inspectSource } from '../../../../host/source/inspection.ts';
import { checkedCaKeys } from '../../../../host/source/trust.ts';
import { makeKeyPair } from '../../../../host/ssh/key-pair.ts';
import { deriveSourceId } from '../../../../model/ids.ts';
import { GATE, prepareHere, unprepareHere } from '../../../host/source/prepare-here.ts';
import { describeTree } from '../../../host/source/tree-digest.ts';
import { temporaryState } from '../../../host/temporary-state.ts';
import { delayFault } from '../../../support/passage-of-time.ts';
import { sweep } from '../../../support/sweep.ts';

const SIGNAL = AbortSignal.timeout(600_000);
const OLD_CA = makeKeyPair('old').publicKey;
const CA_KEY = makeKeyPair('x').publicKey.split(' ').slice(0, 2).join(' ');
const PLAIN = `HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin no
UsePAM no
PidFile none
`;

let hypervisor: SimulatedHypervisor;
let images: string;
let state: string;
let remove: () => Promise<void>;
let name = '';
let id = '';

beforeAll(async () => {
  const temporary = await temporaryState();
  remove = temporary.remove;
  images = temporary.state.images;
  state = temporary.state.root;
  hypervisor = new SimulatedHypervisor({ state: temporary.state });
  await hypervisor.open();
});
afterEach(() => hypervisor.runningSources.stop(name));
afterAll(async () => {
  await hypervisor.close();
  await remove();
});

/** Boots a source with an sshd_config, changed before its boot. */
async function boot(sshdConfig = PLAIN, change: (root: string) => Promise<void> = async () => {}): Promise<string> {
  name = `server-${randomBytes(4).toString('hex')}`;
  id = deriveSourceId('test', name);
  await hypervisor.runningSources.make(name, sshdConfig);
  const root = join(images, name, 'root');
  await change(root);
  await hypervisor.runningSources.start(name);
  return root;
}

async function consoleOf(): Promise<SourceConsole> {
  return (await hypervisor.runningSource(name)).console;
}

const inspect = async () => inspectSource(await consoleOf(), id, GATE.bytes.length, SIGNAL);

const prepare = async (caKeys = [CA_KEY]) => prepareHere(await consoleOf(), id, caKeys);
const unprepare = async () => unprepareHere(await consoleOf(), id);

async function effective(user: string): Promise<string[]> {
  const spec = `user=${user},host=h,addr=192.0.2.9,laddr=192.0.2.2,lport=22`;
  const { stdout } = await (await consoleOf()).run(['/usr/sbin/sshd', '-T', '-C', spec]);
  return stdout.split('\n');
}

async function everything(root: string): Promise<string[]> {
  return [...(await describeTree(join(root, 'etc'))), ...(await describeTree(join(root, 'var')))].concat(
    await describeTree(join(root, '..', 'local-lib')),
  );
}

const CONFIGS: [string, string][] = [
  ['that ends in a Match block', `${PLAIN}Match User git\n  ForceCommand /bin/false`],
  ['plain', PLAIN],
  ['with an Include', `Include /etc/ssh/sshd_config.d/*.conf\n${PLAIN}`],
  ['with AllowUsers', `${PLAIN}AllowUsers sandbox\nAllowGroups sandbox\n`],
  ['without a last newline', PLAIN.trimEnd()],
];

sweep(CONFIGS)(
  'pra-006, pra-017: an sshd_config %s: preparing twice equals once, and unprepare restores every byte',
  async ([, config]) => {
    const root = await boot(config);
    const before = await everything(root);
    const [nobody, git] = [await effective('nobody'), await effective('git')];
    await prepare();
    const once = await everything(root);
    await prepare();
    expect(await everything(root)).toEqual(once);
    expect(await effective('nobody')).toEqual(nobody);
    expect(await effective('git')).toEqual(git);
    expect(await effective('mayfly-readonly')).toEqual(
      expect.arrayContaining(['forcecommand /usr/local/lib/mayfly/mayfly-gate', 'permittty no']),
    );
    await unprepare();
    expect(await everything(root)).toEqual(before);
    await unprepare();
    expect(await everything(root)).toEqual(before);
  },
);

describe('existing settings', () => {
  const withOldCa = (root: string) => writeFile(join(root, 'etc/ssh/old_ca.pub'), `${OLD_CA}\n`);

  test('pra-001, pra-004: another CA and its principals stay in force for all other users', async () => {
    await boot(
      `${PLAIN}TrustedUserCAKeys /etc/ssh/old_ca.pub\nAuthorizedPrincipalsFile /etc/ssh/principals/%u\n`,
      withOldCa,
    );
    await prepare();
    const settings = ['trustedusercakeys /etc/ssh/old_ca.pub', 'authorizedprincipalsfile /etc/ssh/principals/%u'];
    expect(await effective('sandbox')).toEqual(expect.arrayContaining(settings));
    expect(await effective('mayfly-readonly')).toEqual(
      expect.arrayContaining(['trustedusercakeys /etc/ssh/mayfly-source/user_ca.pub']),
    );
  });

  test('pra-001: a new CA key replaces the old one, and both can be trusted', async () => {
    const root = await boot();
    await prepare();
    const next = makeKeyPair('y').publicKey.split(' ').slice(0, 2).join(' ');
    await prepare([next, CA_KEY]);
    expect(await readFile(join(root, 'etc/ssh/mayfly-source/user_ca.pub'), 'utf8')).toBe(`${next}\n${CA_KEY}\n`);
  });

  test('pra-002: an option in a comment is not an option', async () => {
    await boot(`#TrustedUserCAKeys none\n${PLAIN}`);
    await prepare();
    expect(await effective('sandbox')).toContain('trustedusercakeys none');
  });

  test('pra-003: lines appended later apply to all users but ours', async () => {
    const root = await boot();
    await prepare();
    await appendFile(join(root, 'etc/ssh/sshd_config'), 'X11Forwarding yes\n');
    expect(await effective('sandbox')).toContain('x11forwarding yes');
    expect(await effective('mayfly-readonly')).toContain('x11forwarding no');
    await unprepare();
    expect(await readFile(join(root, 'etc/ssh/sshd_config'), 'utf8')).toBe(`${PLAIN}X11Forwarding yes\n`);
  });

  test('an earlier Match block that matches our user is reported, and nothing is reloaded', async () => {
    const root = await boot(`${PLAIN}Match User *\n  ForceCommand /bin/false\n`);
    const before = await everything(root);
    await expect(prepare()).rejects.toMatchObject({
      code: 'prepare_failed',
      message: expect.stringContaining('forcecommand /bin/false'),
    });
    await unprepare();
    expect(await everything(root)).toEqual(before);
  });

  test('a source that another Mayfly has prepared is left unchanged', async () => {
    const root = await boot();
    await prepare();
    const prepared = await everything(root);
    id = deriveSourceId('another', name);
    await expect(inspect()).rejects.toThrow('another Mayfly');
    await unprepare();
    expect(await everything(root)).toEqual(prepared);
  });
});

describe('refused before any change', () => {
  const cases: [string, string, (root: string) => Promise<void>, RegExp][] = [
    [
      'pra-013: a user of our name with uid 0',
      PLAIN,
      (root) => appendFile(join(root, 'etc/passwd'), 'mayfly-readonly:*:0:0::/root:/bin/sh\n'),
      /uid 0/,
    ],
    [
      'a user of our name that we did not make',
      PLAIN,
      (root) => appendFile(join(root, 'etc/passwd'), 'mayfly-readonly:*:1042:1000::/home/x:/bin/sh\n'),
      /did not make/,
    ],
  ];
  test.each(cases)('%s', async (_name, config, change, reason) => {
    const root = await boot(config, change);
    const before = await everything(root);
    await expect(inspect()).rejects.toThrow(reason);
    expect(await everything(root)).toEqual(before);
  });

  test('pra-005: an sshd_config that is invalid already', async () => {
    const root = await boot();
    await appendFile(join(root, 'etc/ssh/sshd_config'), 'Nonsense yes\n');
    await expect(inspect()).rejects.toThrow(/not valid as it is.*Nonsense/);
  });

  test('pra-008: missing programs', async () => {
    await boot();
    const console = await consoleOf();
    await console.run(['/bin/mount', '--bind', '/dev/null', '/usr/sbin/useradd']);
    await expect(inspect()).rejects.toThrow('no program useradd');
  });

  test('pra-010: a read-only root file system', async () => {
    await boot();
    const console = await consoleOf();
    await console.run(['/bin/mount', '-o', 'bind', '/etc', '/etc']);
    await console.run(['/bin/mount', '-o', 'remount,ro,bind', '/etc']);
    await expect(inspect()).rejects.toThrow('/etc cannot be written');
  });

  test('pra-007: a console that is not root', async () => {
    await boot();
    const root = await consoleOf();
    const user: SourceConsole = {
      run: (argv, options) => root.run(['/usr/bin/setpriv', '--reuid=1000', '--clear-groups', ...argv], options),
      writeFile: () => Promise.reject(new Error('nothing is to be written')),
    };
    await expect(inspectSource(user, id, 100, SIGNAL)).rejects.toThrow('not root');
  });
});

test('pra-005: settings that sshd refuses are undone at once, and sshd keeps running', async () => {
  const root = await boot();
  const before = await readFile(join(root, 'etc/ssh/sshd_config'), 'utf8');
  const console = await consoleOf();
  const inspection = await inspect();
  await claimSource(console, id, SIGNAL);
  await writeFile(join(root, 'etc/ssh/sshd_config'), `${before}Nonsense yes\n`);
  await expect(addSshdSettings(console, id, inspection, SIGNAL)).rejects.toThrow(/sshd -t refuses/);
  expect(await readFile(join(root, 'etc/ssh/sshd_config'), 'utf8')).toBe(`${before}Nonsense yes\n`);
});

test('pra-012: with pam_shells the gate is listed in /etc/shells until unprepare', async () => {
  const root = await boot(PLAIN, async (tree) => {
    await mkdir(join(tree, 'etc/pam.d'));
    await writeFile(join(tree, 'etc/pam.d/sshd'), 'auth required pam_shells.so\n');
    await writeFile(join(tree, 'etc/shells'), '/bin/sh\n/bin/bash');
  });
  const before = await everything(root);
  await prepare();
  expect(await readFile(join(root, 'etc/shells'), 'utf8')).toBe(
    '/bin/sh\n/bin/bash\n/usr/local/lib/mayfly/mayfly-gate\n',
  );
  await unprepare();
  expect(await everything(root)).toEqual(before);
});

test('account files keep later changes of others', async () => {
  const root = await boot();
  await prepare();
  const console = await consoleOf();
  await console.run(['/usr/sbin/useradd', '--no-create-home', '--shell', '/bin/sh', 'newcomer']);
  await unprepare();
  const passwd = await readFile(join(root, 'etc/passwd'), 'utf8');
  expect(passwd).toContain('newcomer:');
  expect(passwd).not.toContain('mayfly');
  expect(await readFile(join(root, 'etc/passwd-'), 'utf8')).not.toContain('mayfly');
});

test('a manipulated gate is restored, with its mode', async () => {
  const root = await boot();
  await prepare();
  const path = join(root, '../local-lib/mayfly/mayfly-gate');
  await writeFile(path, 'echo hello');
  await prepare();
  expect(await readFile(path)).toEqual(GATE.bytes);
  await chmod(path, 0o777);
  await prepare();
  expect((await describeTree(join(root, '../local-lib'))).find((line) => line.includes('gate'))).toContain(
    '100755 0:0',
  );
});

test.each([
  ['pra-014', `${CA_KEY}\n${CA_KEY}`],
  ['pra-015', `command="x" ${CA_KEY}`],
  ['pra-016', `${CA_KEY} '; touch /tmp/x; '`],
  ['nothing', ''],
])('%s: a CA key other than one bare key is refused', (_case, key) => {
  expect(() => checkedCaKeys([key])).toThrow('not one bare line');
});

const TENTHS = [4, 0, 1, 2, 3, 5, 6, 7, 8, 9];

sweep(TENTHS)(
  'pra-006: killed in tenth %s of its time, its successor completes or undoes it, without duplicates',
  async (tenth) => {
    const root = await boot();
    const before = await everything(root);
    const began = performance.now();
    await prepare();
    const prepared = await everything(root);
    const lasts = performance.now() - began;
    await unprepare();
    await killedAfter((lasts * (tenth + 0.5)) / 10);
    if (tenth % 2 === 0) {
      await prepare();
      expect(await everything(root)).toEqual(prepared);
    }
    await unprepare();
    expect(await everything(root)).toEqual(before);
  },
);

/** Prepares in a process of its own, and kills it after `ms`. */
async function killedAfter(ms: number): Promise<void> {
  const program = fileURLToPath(new URL('../../../host/source/prepare-process.ts', import.meta.url));
  const args = ['--import', 'tsx', program, state, name, id, CA_KEY];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  await delayFault(ms); // the moment of death is varied here
  child.kill('SIGKILL');
  await ended;
}
