import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { StandIn } from '../clients/typescript/stand-in.ts';
import { runLine } from './run-line.ts';

/** Returns bash's completions for these words, the last one being typed. */
function offered(script: string, words: string[]): string[] {
  const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mayfly; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const printed = execFileSync('bash', ['-c', `${script}\n${ask}`, 'bash', ...words], { encoding: 'utf8' });
  return printed.split('\n').filter((line) => line !== '');
}

it('completes commands, subcommands and options', async () => {
  const server = await StandIn.start();
  const { out } = await runLine(server, ['completion']);
  const zsh = await runLine(server, ['completion', '--shell', 'zsh']);
  await server.stop();
  expect(offered(out, ['mayfly', 'sandb'])).toEqual(['sandbox']);
  expect(offered(out, ['mayfly', 'sandbox', ''])).toEqual(expect.arrayContaining(['create', 'destroy', '--help']));
  expect(offered(out, ['mayfly', 'sandbox', 'create', 'list', '--tt'])).toEqual(['--ttl']); // a source may have that name
  expect(offered(out, ['mayfly', 'run', 'sbx-1', '--det'])).toEqual(['--detach']);
  expect(zsh.out).toContain(out);
});
