import { inspect } from 'node:util';
import { expect } from 'vitest';
import { Mayfly } from '../../../../clients/typescript/package/mayfly.ts';
import { eventually } from '../../../support/eventually.ts';
import type { Scenario } from './stage.ts';

/** Scenarios of commands, and of network faults during calls. */
export const commands: Record<number, Scenario> = {
  15: async (stage) => {
    const { exitCode, stdout, stderr } = await (await stage.shared()).run('echo out; echo err >&2');
    expect([exitCode, stdout, stderr]).toEqual([0, 'out\n', 'err\n']);
  },
  16: async (stage) => {
    const { exitCode, command } = await (await stage.shared()).run('exit 3');
    expect([exitCode, command.outcome]).toEqual([3, 'exited']);
  },
  17: async (stage) => {
    expect((await (await stage.shared()).run(['echo', '$HOME;', '*'])).stdout).toBe('$HOME; *\n');
  },
  18: async (stage) => {
    const request = { command: 'echo "$GREETING"; pwd', env: { GREETING: 'hé llo' }, cwd: '/tmp' };
    expect((await (await stage.shared()).run(request)).stdout).toBe('hé llo\n/tmp\n');
  },
  19: async (stage) => {
    expect((await (await stage.shared()).run({ argv: ['cat'], stdin: 'given' })).stdout).toBe('given');
  },
  20: async (stage) => {
    const command = await (await stage.shared()).start({ argv: ['cat'], stdinOpen: true });
    await command.write('one ');
    await command.write(new TextEncoder().encode('two'));
    await command.closeStdin();
    const pieces: Uint8Array[] = [];
    for await (const { bytes } of command) pieces.push(bytes);
    expect([Buffer.concat(pieces).toString(), command.record.exitCode]).toEqual(['one two', 0]);
  },
  21: async (stage) => {
    const command = await (await stage.shared()).start({ command: 'echo first; cat; echo last', stdinOpen: true });
    const seen: string[] = [];
    for await (const { bytes } of command) {
      if (seen.length === 0) await command.closeStdin(); // proves that the command has not ended
      seen.push(new TextDecoder().decode(bytes));
    }
    expect(seen.join('')).toBe('first\nlast\n');
  },
  22: async (stage) => {
    await stage.network();
    const command = await (await stage.shared()).start('echo first; sleep 1; echo lived > /tmp/lived');
    for await (const { bytes } of command) {
      expect(new TextDecoder().decode(bytes)).toBe('first\n');
      break;
    }
    await eventually(() => stage.seen(), { open: 0 });
    expect((await command.ended()).outcome).toBe('exited');
    expect((await (await stage.shared()).run('cat /tmp/lived')).stdout).toBe('lived\n');
  },
  23: async (stage) => {
    const sandbox = await stage.shared();
    const command = await sandbox.start('for n in 1 2 3; do echo line $n; done');
    await command.ended();
    for (const after of [0, 1, 60, 130, 200, 280, 350, 430]) {
      await stage.network({ match: '/events$', does: 'cut', times: 2, after });
      const pieces: Uint8Array[] = [];
      for await (const { bytes } of command) pieces.push(bytes);
      expect([after, Buffer.concat(pieces).toString()]).toEqual([after, 'line 1\nline 2\nline 3\n']);
    }
  },
  24: async (stage) => {
    const command = await (await stage.shared()).start('sleep 60');
    await command.cancel();
    expect((await command.ended()).outcome).toBe('cancelled');
  },
  25: async (stage) => {
    const { exitCode, command } = await (await stage.shared()).run({ command: 'sleep 60', timeoutSeconds: 1 });
    expect([exitCode, command.outcome]).toEqual([null, 'timed-out']);
  },
  26: async (stage) => {
    const { stdout, bytes } = await (await stage.shared()).run("printf 'a\\377b'");
    expect([stdout, [...bytes.stdout]]).toEqual(['a\u{fffd}b', [0x61, 0xff, 0x62]]);
  },
  27: async (stage) => {
    expect((await (await stage.shared()).run('sleep 6; echo slept')).stdout).toBe('slept\n');
  },
  28: async (stage) => {
    const { id } = await stage.shared();
    await stage.network({ match: '^GET', does: 'stall', times: 9 });
    const late = stage.mayfly.getSandbox(id, { deadlineSeconds: 0.5 });
    await expect(late).rejects.toMatchObject({ name: 'MayflyDeadlineError', seconds: 0.5 });
  },
  29: async (stage) => {
    const sandbox = await stage.shared();
    await stage.network({ match: '^POST', does: 'refuse', times: 2 });
    expect((await sandbox.run('echo once')).stdout).toBe('once\n');
    const posts = (await stage.seen()).seen.filter(({ line }) => line.startsWith('POST'));
    expect([posts.length, new Set(posts.map(({ key }) => key)).size]).toEqual([3, 1]);
  },
  30: async (stage) => {
    const { id } = await stage.shared();
    await stage.network({ match: '^GET', does: 'refuse', times: 9 });
    await expect(stage.mayfly.getSandbox(id)).rejects.toMatchObject({ code: 'store_unavailable', status: 503 });
    expect((await stage.seen()).seen).toHaveLength(4);
  },
  31: async (stage) => {
    const sandbox = await stage.shared();
    await stage.network({ match: '^GET', does: 'alter', times: 1 });
    expect((await sandbox.refresh()).state).toBe('of-tomorrow');
    await stage.network({ match: '^GET', does: 'garble', times: 1 });
    await expect(sandbox.refresh()).rejects.toMatchObject({ status: 409, problem: { unknownCode: 'of_tomorrow' } });
  },
  32: async (stage) => {
    const secret = stage.apiKey.slice(-20);
    const nowhere = new Mayfly({ baseUrl: 'http://127.0.0.1:1', apiKey: stage.apiKey, deadlineSeconds: 1 });
    const errors = await Promise.all([
      nowhere.listSandboxes().catch((error: unknown) => error),
      stage.mayfly.getSandbox('sbx-0000000000000000').catch((error: unknown) => error),
    ]);
    const shown = inspect([stage.mayfly, await stage.shared(), ...errors], { depth: 20, showHidden: true });
    expect(shown).toContain('MayflyConnectionError');
    expect([shown.includes(secret), JSON.stringify(stage.mayfly).includes(secret)]).toEqual([false, false]);
  },
};
