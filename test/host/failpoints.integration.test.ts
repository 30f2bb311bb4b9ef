import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { Failpoints } from '../../host/failpoints.ts';

const SANDBOX = 'sbx-0123456789abcdef';
const OTHER = 'sbx-0123456789abcdeg';
const SNAPSHOT = 'snp-0123456789abcdef';

describe('MAYFLY_FAILPOINTS', () => {
  test('an empty setting does nothing', async () => {
    for (const text of [undefined, '', ' ; ']) {
      const failpoints = Failpoints.parse(text);
      expect(failpoints.armed).toBe(false);
      await failpoints.hit('cloneDisk', 'before', SANDBOX);
    }
  });

  test('an error occurs at its step and place only, and is not retryable', async () => {
    const failpoints = Failpoints.parse('cloneDisk.after=error');
    await failpoints.hit('cloneDisk', 'before', SANDBOX);
    await failpoints.hit('bootDomain', 'after', SANDBOX);
    const hit = failpoints.hit('cloneDisk', 'after', SANDBOX);
    await expect(hit).rejects.toMatchObject({ code: 'fault_injected', retryable: false });
  });

  test('error(code) is retryable by the error table, and a count runs out', async () => {
    const failpoints = Failpoints.parse('bootDomain.during=2*error(boot_failed);awaitIp.before=delay(1)');
    for (let i = 0; i < 2; i++) {
      const hit = failpoints.hit('bootDomain', 'during', SANDBOX);
      await expect(hit).rejects.toMatchObject({ code: 'boot_failed', retryable: true });
    }
    await failpoints.hit('bootDomain', 'during', SANDBOX);
    await failpoints.hit('awaitIp', 'before', SANDBOX);
  });

  test('a file is read at each step, and a change resets its counts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'failpoints-'));
    const file = join(folder, 'points');
    try {
      await writeFile(file, '');
      const failpoints = Failpoints.parse(`@${file}`);
      expect(failpoints.armed).toBe(true);
      const hit = () => failpoints.hit('cloneDisk', 'after', SANDBOX);
      await hit();
      for (const text of ['cloneDisk.after=1*error', 'cloneDisk.after=1*error(clone_failed)']) {
        await writeFile(file, text);
        await expect(hit()).rejects.toThrow();
        await hit();
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('hang ends with the reason of the signal', async () => {
    const abort = new AbortController();
    const hit = Failpoints.parse('verifySsh.before=hang').hit('verifySsh', 'before', SANDBOX, abort.signal);
    abort.abort(new Error('heartbeat timed out'));
    await expect(hit).rejects.toThrow('heartbeat timed out');
  });

  test('kill is a SIGKILL, without exit handlers', async () => {
    const module = fileURLToPath(new URL('../../host/failpoints.ts', import.meta.url));
    const program = `import { Failpoints } from ${JSON.stringify(module)};
      process.on('exit', () => process.stdout.write('exit handler'));
      await Failpoints.parse('cloneDisk.before=kill').hit('cloneDisk', 'before', []);`;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program]);
    let printed = '';
    child.stdout.on('data', (chunk) => {
      printed += chunk;
    });
    const [code, signal] = await once(child, 'close');
    expect({ code, signal, printed }).toEqual({ code: null, signal: 'SIGKILL', printed: '' });
  });

  test.each([
    ['cloneDisk=error', 'step.where=action'],
    ['cloneDisk.around=error', 'before, during, after'],
    ['cloneDisk.before=explode', 'none of error'],
    ['cloneDisk.before=error(nonsense)', 'not in the error table'],
    ['cloneDisk.before=delay(soon)', 'none of error'],
    ['cloneDisk.before=delay(99999999)', 'none of error'],
    ['cloneDisk.before=kill(9)', 'none of error'],
    ['cloneDisk.before=0*error', 'at least 1'],
    ['cloneDisk.before=error;cloneDisk.before=kill', 'set twice'],
    [`${SANDBOX}/cloneDisk.before=error;${SANDBOX}/cloneDisk.before=kill`, 'set twice'],
    ['nobody/cloneDisk.before=error', 'id/step.where=action'],
    [`${SANDBOX}/${OTHER}/cloneDisk.before=error`, 'id/step.where=action'],
  ])('%s is refused with a reason', (text, why) => {
    expect(() => Failpoints.parse(text)).toThrow(why);
    expect(() => Failpoints.parse(text)).toThrow('MAYFLY_FAILPOINTS');
  });
});

describe('a point for one id', () => {
  const struck = { code: 'fault_injected' };

  test('applies only to steps with that id among theirs', async () => {
    const failpoints = Failpoints.parse(`${SANDBOX}/removeSnapshot.during=2*error`);
    await failpoints.hit('removeSnapshot', 'during', []);
    await failpoints.hit('removeSnapshot', 'during', [SNAPSHOT, OTHER]);
    await failpoints.hit('removeSnapshot', 'before', SANDBOX);
    await expect(failpoints.hit('removeSnapshot', 'during', SANDBOX)).rejects.toMatchObject(struck);
    await expect(failpoints.hit('removeSnapshot', 'during', [SNAPSHOT, SANDBOX])).rejects.toMatchObject(struck);
    await failpoints.hit('removeSnapshot', 'during', SANDBOX);
  });

  test('precedes the one of the process, which applies to all', async () => {
    const failpoints = Failpoints.parse(`reserve.before=1*error(no_host);${SANDBOX}/reserve.before=1*error`);
    await expect(failpoints.hit('reserve', 'before', SANDBOX)).rejects.toMatchObject(struck);
    await expect(failpoints.hit('reserve', 'before', SANDBOX)).rejects.toMatchObject({ code: 'no_host' });
    await failpoints.hit('reserve', 'before', OTHER);
  });

  test('is armed and lifted without affecting other ids', async () => {
    const failpoints = Failpoints.parse('awaitIp.before=error');
    failpoints.arm('reserve.before=error; reserve.after=error', SANDBOX);
    failpoints.arm('reserve.before=error', OTHER);
    failpoints.arm('reserve.after=error', SANDBOX);
    await failpoints.hit('reserve', 'before', SANDBOX);
    await expect(failpoints.hit('reserve', 'after', SANDBOX)).rejects.toMatchObject(struck);
    failpoints.arm(undefined, SANDBOX);
    await failpoints.hit('reserve', 'after', SANDBOX);
    await expect(failpoints.hit('reserve', 'before', OTHER)).rejects.toMatchObject(struck);
    await expect(failpoints.hit('awaitIp', 'before', OTHER)).rejects.toMatchObject(struck);
    failpoints.arm(undefined);
    expect(failpoints.armed).toBe(false);
  });

  test('is armed by id without the id in its text', () => {
    const failpoints = Failpoints.parse(undefined);
    expect(() => failpoints.arm(`${OTHER}/reserve.before=error`, SANDBOX)).toThrow('id/step.where=action');
  });
});
