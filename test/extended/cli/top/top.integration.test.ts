import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { AFTER, expectRestored, kill, RUN, useTerminals } from '../../../cli/top/on-a-terminal.ts';
import { APPROVAL, manySandboxes } from '../../../cli/top/top-stand-in.ts';
import { letTimePass } from '../../../support/passage-of-time.ts';

const { api, top } = useTerminals();
const CRASH = `data:text/javascript,process.on('SIGUSR2',()=>{throw new Error('on purpose')})`;

it.each([
  ['q', 'code 0', (type: (keys: string) => void) => type('q')],
  ['Ctrl-C', 'code 0', (type: (keys: string) => void) => type('\u0003')],
] as const)('%s ends it, and restores the terminal', async (_name, code, end) => {
  api().sandboxes = manySandboxes(3);
  const terminal = top();
  await terminal.shows('> sbx-0000000000000000');
  expect([terminal.screen.modes.has('?1049'), terminal.screen.modes.has('?25')]).toEqual([true, false]);
  end((keys) => terminal.type(keys));
  await terminal.shows('over');
  expect(terminal.screen.text).toContain(code);
  expectRestored(terminal);
});

it.each([
  ['SIGTERM', 'code 130'],
  ['SIGHUP', 'code 130'],
  ['SIGQUIT', 'code 131'],
  ['SIGUSR2', 'on purpose'],
] as const)('%s, the last of them a crash, restores the terminal', async (signal, said) => {
  api().sandboxes = manySandboxes(3);
  const terminal = top({ env: { NODE_OPTIONS: `--import "${CRASH}"` } });
  await terminal.shows('> sbx-0000000000000000');
  kill(terminal, signal);
  await terminal.shows('over');
  expect(terminal.screen.text).toContain(said);
  expectRestored(terminal);
});

it.each(['Ctrl-Z', 'SIGTSTP'])('%s restores the terminal until it continues', async (way) => {
  api().sandboxes = manySandboxes(3);
  const terminal = top({ script: `${RUN}; stty -g > "$HERE/stopped"; echo stopped; read; fg; ${AFTER}` });
  await terminal.shows('> sbx-0000000000000000');
  if (way === 'Ctrl-Z') terminal.type('\u001a');
  else kill(terminal, 'SIGTSTP');
  await terminal.until('stopped', () => /^stopped/m.test(terminal.screen.text));
  expectRestored(terminal, 'stopped');
  terminal.type('\n');
  await terminal.shows('> sbx-0000000000000000');
  terminal.type('j');
  await terminal.shows('> sbx-0000000000000001');
  terminal.type('q');
  await terminal.shows('over');
  expectRestored(terminal);
});

it('shows since when the API is unreachable, and continues when it returns', async () => {
  api().sandboxes = manySandboxes(2);
  const terminal = top();
  await terminal.shows('box-1');
  api().isGone = true;
  await terminal.shows(/stale since \d\d:\d\d:\d\d/);
  expect(terminal.screen.text).toContain('box-1');
  api().isGone = false;
  api().sandboxes = manySandboxes(3);
  await terminal.shows('box-2');
  expect(terminal.screen.text).not.toContain('stale');
});

it('shows the same for an API that does not answer', async () => {
  api().sandboxes = manySandboxes(2);
  const terminal = top();
  await terminal.shows('box-1');
  api().isSilent = true;
  await terminal.shows(/stale since \d\d:\d\d:\d\d: no answer for 10 s/);
  terminal.type('q');
  await terminal.shows('over');
  expectRestored(terminal);
});

it('destroys the confirmed sandbox, even if its line has moved; a read-only key is not offered it', async () => {
  api().sandboxes = manySandboxes(3);
  const terminal = top();
  await terminal.shows('d destroy');
  terminal.type('j');
  await terminal.shows('> sbx-0000000000000001');
  terminal.type('d');
  await terminal.shows('Destroy sbx-0000000000000001? y or n');
  const fresh = manySandboxes(1, { id: 'sbx-zzzzzzzzzzzzzzzz', name: 'new', createdAt: new Date().toISOString() });
  api().sandboxes = [...fresh, ...manySandboxes(3).slice(1)];
  await terminal.shows('new');
  expect(terminal.screen.text).toContain('Destroy sbx-0000000000000001?');
  expect(terminal.screen.text).toContain('> sbx-0000000000000001');
  terminal.type('ddy'); // pasted: no keys
  await terminal.shows('Destroy sbx-0000000000000001?');
  await terminal.until('destroyed', () => {
    terminal.type('y'); // ignored as part of the paste
    return api().destroyed.length > 0;
  });
  await terminal.shows('is destroying');
  expect(api().destroyed).toEqual(['sbx-0000000000000001']);
  api().scopes = ['sandboxes:read'];
  const reader = top();
  await reader.shows('> sbx-zzzzzzzzzzzzzzzz');
  await reader.shows('residue 0');
  for (const key of ['d', 'l', 'y', 'j']) {
    reader.type(key);
    await letTimePass(100); // keys in quick succession are a paste
  }
  await reader.shows('> sbx-0000000000000002');
  expect([reader.raw.includes('d destroy'), reader.raw.includes('Destroy'), api().destroyed.length]).toEqual([
    false,
    false,
    1,
  ]);
});

it('offers a key with only the scope approvals:decide its decisions, and nothing else (case 7)', async () => {
  api().scopes = ['approvals:decide'];
  api().approvals = [APPROVAL];
  const terminal = top();
  await terminal.shows('This key may not do that');
  terminal.type('4');
  await terminal.shows(`> ${APPROVAL.id}`);
  terminal.type('\r');
  await terminal.shows('a approve  r refuse');
  terminal.type('a');
  await terminal.shows(`Approve ${APPROVAL.id}? y or n`);
  terminal.type('n');
  await terminal.shows('is not decided');
  expect([terminal.raw.includes('d destroy'), terminal.raw.includes('l log in')]).toEqual([false, false]);
});

it('fits 40 columns and 10 lines, and every other size', async () => {
  api().sandboxes = manySandboxes(300, { state: 'creating', phase: 'verifying-ssh' });
  const terminal = top({ columns: 40, rows: 10 });
  await terminal.shows('4 0');
  await terminal.shows('> sbx-0000000000000000  creating (verif…');
  for (const [columns, rows] of [
    [120, 30],
    [20, 3],
    [7, 1],
    [41, 11],
  ] as const) {
    terminal.resize(columns, rows);
    if (rows > 3)
      await terminal.until(`${columns}x${rows}`, () => terminal.screen.lines[rows - 2]?.startsWith('q quit') === true);
  }
  await terminal.shows('1 sandboxes 300]');
  terminal.type('G');
  await terminal.shows(/> sbx-00000000000002\d\d/);
  expect(terminal.screen.lines.filter((line) => line.includes('sbx-'))).toHaveLength(6);
  expect(terminal.screen.lines[0]).toMatch(/^mayfly top/);
});

it('shows foreign text without control sequences, and no colour with NO_COLOR', async () => {
  const bad = '\u001b]52;c;ZXZpbA==\u0007\u001b[2Jx\u202e\u200by\n\u009b31m';
  api().sandboxes = manySandboxes(1, {
    waitingFor: bad,
    state: 'destroying',
    hostId: bad,
    spec: { ...(manySandboxes(1)[0]?.spec as never as object), source: bad } as never,
  });
  const terminal = top({ columns: 160, env: { NO_COLOR: '1' } });
  await terminal.shows(']52;c;ZXZpbA==');
  terminal.type('2');
  await terminal.shows('[2 sagas 1]');
  terminal.type('\r');
  await terminal.shows('waits for');
  expect([terminal.screen.hasStyles, terminal.raw.includes(']52;c;ZXZpbA==\u0007')]).toEqual([false, false]);
  const colored = top({ columns: 160 });
  await colored.shows(']52;c;ZXZpbA==');
  expect(colored.screen.hasStyles).toBe(true);
});

it('shows changes of a sandbox, and logs in to it', async () => {
  api().sandboxes = manySandboxes(2);
  const terminal = top({
    script: `export PATH="$HERE:$PATH"; while [ ! -x "$HERE/ssh" ]; do sleep 0.05; done; ${RUN}; ${AFTER}`,
  });
  const ssh = join(terminal.folder, 'ssh');
  const guest = `stty -g > "$HERE/lent"; echo "in the guest"; read line; echo "heard $line"; printf '\\033[?1000h'; sleep 0.2`;
  writeFileSync(ssh, `#!/bin/bash\n${guest}\n`);
  chmodSync(ssh, 0o755);
  await terminal.shows('l log in');
  terminal.type('\r');
  await terminal.shows('cloneDisk');
  terminal.type('\u001b');
  await terminal.shows('> sbx-0000000000000000');
  terminal.type('l');
  await terminal.shows('in the guest');
  expectRestored(terminal, 'lent');
  terminal.type('quit d y\n');
  await terminal.shows('heard quit d y');
  await terminal.shows('> sbx-0000000000000000');
  await letTimePass(400); // the first input is not taken for keys
  terminal.type('j');
  await terminal.shows('> sbx-0000000000000001');
  terminal.type('q');
  await terminal.shows('over');
  expectRestored(terminal);
  expect(api().destroyed).toEqual([]);
});
