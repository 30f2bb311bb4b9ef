import { Box, type Key, render, Text, useInput } from 'ink';
import { createElement, type ReactNode } from 'react';
import type { Io } from '../../terminal/io.ts';
import type { Line } from './frame.ts';

/** What is on the screen, drawn by ink. */
export interface View {
  draw(lines: readonly Line[]): void;
  end(): void;
}

export interface ViewEvents {
  /** A character, or the name of a key. */
  onKey: (key: string) => void;
  onError: (error: unknown) => void;
}

/** Draws into a terminal and listens to its keys. */
export function openView(io: Io, lines: readonly Line[], { onKey, onError }: ViewEvents): View {
  const screen = (shown: readonly Line[]) => createElement(Screen, { io, lines: shown, onKey });
  const { rerender, unmount, waitUntilExit } = render(screen(lines), { exitOnCtrlC: false, patchConsole: false });
  waitUntilExit().catch(onError);
  return { draw: (next) => rerender(screen(next)), end: () => unmount() };
}

function Screen({ io, lines, onKey }: { io: Io; lines: readonly Line[]; onKey: (key: string) => void }): ReactNode {
  useInput((input, key) => {
    for (const name of namesOf(input, key)) onKey(name);
  });
  const texts = lines.map(({ text, style }, n) => {
    // An empty text would take no line.
    const shown = text === '' ? ' ' : style ? io.paint(style, text) : text;
    return createElement(Text, { key: n, wrap: 'truncate' }, shown);
  });
  return createElement(Box, { flexDirection: 'column' }, ...texts);
}

const NAMED = [
  ['return', 'enter'],
  ['escape', 'escape'],
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageUp', 'pageup'],
  ['pageDown', 'pagedown'],
  ['home', 'home'],
  ['end', 'end'],
] as const satisfies [keyof Key, string][];

/** Keys that only move, which a slow line brings several of at once. */
const MOVES = /^[jkgG ]+$/;

/** What was typed. Of a text that was pasted it is nothing: nobody says yes to a question with it that it asked itself. */
function namesOf(input: string, key: Key): string[] {
  const named = NAMED.find(([is]) => key[is]);
  if (named) return [named[1]];
  if (key.tab) return [key.shift ? 'shift-tab' : 'tab'];
  if (input.includes('\u0003')) return ['ctrl-c'];
  if (input.length > 1 && MOVES.test(input)) return input.split('');
  if (input.length !== 1 || key.meta) return [];
  return [key.ctrl ? `ctrl-${input}` : input];
}
