import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { Failpoints } from '../../host/failpoints.ts';

describe('MAYFLY_FAILPOINTS', () => {
  test('nothing is set: nothing happens', async () => {
    for (const text of [undefined, '', ' ; ']) {
      const failpoints = Failpoints.parse(text);
      expect(failpoints.armed).toBe(false);
      await failpoints.hit('cloneDisk', 'before');
    }
  });

  test('an error strikes at its step and place only, and is not retryable', async () => {
    const failpoints = Failpoints.parse('cloneDisk.after=error');
    await failpoints.hit('cloneDisk', 'before');
    await failpoints.hit('bootDomain', 'after');
    const hit = failpoints.hit('cloneDisk', 'after');
    await expect(hit).rejects.toMatchObject({ code: 'fault_injected', retryable: false });
  });

  test('error(code) is as retryable as the error table says, and a count runs out', async () => {
    const failpoints = Failpoints.parse('bootDomain.during=2*error(boot_failed);awaitIp.before=delay(1)');
    for (let i = 0; i < 2; i++) {
      const hit = failpoints.hit('bootDomain', 'during');
      await expect(hit).rejects.toMatchObject({ code: 'boot_failed', retryable: true });
    }
    await failpoints.hit('bootDomain', 'during');
    await failpoints.hit('awaitIp', 'before');
  });

  test('hang ends with the reason of the signal', async () => {
    const abort = new AbortController();
    const hit = Failpoints.parse('verifySsh.before=hang').hit('verifySsh', 'before', abort.signal);
    abort.abort(new Error('heartbeat timed out'));
    await expect(hit).rejects.toThrow('heartbeat timed out');
  });

  test('kill is a SIGKILL: nothing of the process runs any more', async () => {
    const module = fileURLToPath(new URL('../../host/failpoints.ts', import.meta.url));
    const program = `import { Failpoints } from ${JSON.stringify(module)};
      process.on('exit', () => process.stdout.write('exit handler'));
      await Failpoints.parse('cloneDisk.before=kill').hit('cloneDisk', 'before');`;
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
  ])('%s is refused, and why is said', (text, why) => {
    expect(() => Failpoints.parse(text)).toThrow(why);
    expect(() => Failpoints.parse(text)).toThrow('MAYFLY_FAILPOINTS');
  });
});
