import { describe, expect, it } from 'vitest';
import type { Row } from '../../../cli/top/row.ts';
import { press } from '../../../cli/top/screen/keys.ts';
import { chosenRow, firstState, moved, type State, withRows } from '../../../cli/top/screen/state.ts';

const rows = (...ids: string[]): Row[] => ids.map((id) => ({ id, sandboxId: id, cells: [id] }));
const fresh = { ...firstState('http://api', ['sandboxes', 'sagas'], { columns: 80, rows: 10 }), mayChange: true };
const typed = (state: State, ...keys: string[]) => keys.reduce((now, key) => press(now, key).state, state);

// Promise: a question is about the sandbox that it named; who may not change has no such keys. Costs nothing.
describe('keys', () => {
  it('ask about a sandbox, and destroy that one although lines move, or it is on none', () => {
    const asked = typed(withRows(fresh, 0, rows('a', 'b', 'c'), true, 1), 'j', 'd');
    for (const later of [rows('x', 'y', 'a', 'b'), rows('x'), []]) {
      const now = withRows(asked, 0, later, true, 2);
      expect(press(now, 'y').action).toEqual({ do: 'destroy', sandboxId: 'b' });
      expect(press(now, 'Y').action).toBeUndefined();
      expect(press(now, 'enter')).toMatchObject({ state: { question: null } });
    }
    expect(press(asked, 'j')).toMatchObject({ state: { question: null } });
    expect(chosenRow(typed(asked, 'j'))?.id).toBe('b');
  });

  it('are none that change anything for who may only read, or where there is no sandbox', () => {
    const known = withRows(fresh, 0, rows('a'), true, 1);
    for (const state of [{ ...known, mayChange: false }, fresh, typed(known, '2')]) {
      for (const key of ['d', 'l']) expect(press(state, key)).toEqual({ state: { ...state, notice: null } });
    }
    expect(press({ ...known, mayChange: false }, 'enter').action).toEqual({ do: 'look', sandboxId: 'a' });
    expect(press(known, 'l').action).toEqual({ do: 'log-in', sandboxId: 'a' });
  });

  it('choose a row that stays chosen where it moves, and another in its place when it has gone', () => {
    const state = moved(withRows(fresh, 0, rows('a', 'b', 'c'), true, 1), 1);
    expect(chosenRow(withRows(state, 0, rows('n', 'a', 'b'), true, 2))?.id).toBe('b');
    expect(chosenRow(withRows(state, 0, rows('a', 'c'), true, 2))?.id).toBe('c');
    expect(chosenRow(withRows(state, 0, [], true, 2))).toBeNull();
    expect(chosenRow(typed(state, 'G', 'j', 'down'))?.id).toBe('c');
    expect(chosenRow(typed(state, 'pageup', 'constructor'))?.id).toBe('a');
  });
});
