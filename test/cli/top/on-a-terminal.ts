import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect } from 'vitest';
import { PseudoTerminal, type PseudoTerminalOptions } from '../../support/pseudo-terminal.ts';
import { TopStandIn } from './top-stand-in.ts';

const PROGRAM = fileURLToPath(new URL('../../../bin/mayfly', import.meta.url));
/** Runs `mayfly top` in a process with a known id, instead of the shell's child. */
export const RUN = `bash -c 'echo $$ > "$HERE/pid"; exec "${process.execPath}" "${PROGRAM}" top'`;
/** Records the terminal's settings afterwards. */
export const AFTER = 'echo "code $?"; stty -g > "$HERE/after"; echo over';

/** Sets up `mayfly top` on pseudo-terminals, against a stand-in for the API, for the tests of a file. */
export function useTerminals() {
  let api: TopStandIn;
  const opened = new Set<PseudoTerminal>();
  beforeEach(async () => {
    api = await TopStandIn.start();
  });
  afterEach(async () => {
    for (const terminal of opened) await terminal.end();
    opened.clear();
    await api.stop();
  });

  function top(options: PseudoTerminalOptions & { script?: string } = {}): PseudoTerminal {
    const { script = `${RUN}; ${AFTER}`, ...rest } = options;
    const env = { ...api.env(), NO_COLOR: '', CI: '1', ...rest.env };
    const terminal = new PseudoTerminal(script, { ...rest, env });
    opened.add(terminal);
    return terminal;
  }
  return { api: () => api, top };
}

export function kill(terminal: PseudoTerminal, signal: NodeJS.Signals): void {
  process.kill(Number(terminal.file('pid')), signal);
}

/** Asserts that settings, screen, cursor and wrapping are restored, and no frame is left. */
export function expectRestored(terminal: PseudoTerminal, when = 'after'): void {
  expect(terminal.file(when)).toBe(terminal.file('before'));
  expect([...terminal.screen.modes].sort()).toEqual(['?25', '?7']);
  expect(terminal.screen.text).not.toContain('sandboxes');
}
