import { describe, expect, it } from 'vitest';
import type { Row } from '../../../cli/top/rows/section.ts';
import { press } from '../../../cli/top/screen/keys.ts';
import { chosenRow, firstState, moveSelection, type State, withRows } from '../../../cli/top/screen/state.ts';
import { APPROVAL } from './top-stand-in.ts';

const rows = (...ids: string[]): Row[] => ids.map((id) => ({ id, sandboxId: id, cells: [id] }));
const fresh = { ...firstState('http://api', ['sandboxes', 'sagas'], { columns: 80, rows: 10 }), mayChange: true };
const typed = (state: State, ...keys: string[]) => keys.reduce((now, key) => press(now, key).state, state);

// Guards: a question is about the sandbox it names; readers have no keys that change anything. Costs nothing.
describe('keys', () => {
  it('confirm a destroy, which applies to the named sandbox although rows move or disappear', () => {
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

  it('change nothing for a reader, or without a sandbox', () => {
    const known = withRows(fresh, 0, rows('a'), true, 1);
    for (const state of [{ ...known, mayChange: false }, fresh, typed(known, '2')]) {
      for (const key of ['d', 'l']) expect(press(state, key)).toEqual({ state: { ...state, notice: null } });
    }
    expect(press({ ...known, mayChange: false }, 'enter').action).toEqual({ do: 'look', sandboxId: 'a' });
    expect(press(known, 'l').action).toEqual({ do: 'log-in', sandboxId: 'a' });
  });

  it('choose a row that stays chosen when it moves, and a neighbour when it disappears', () => {
    const state = moveSelection(withRows(fresh, 0, rows('a', 'b', 'c'), true, 1), 1);
    expect(chosenRow(withRows(state, 0, rows('n', 'a', 'b'), true, 2))?.id).toBe('b');
    expect(chosenRow(withRows(state, 0, rows('a', 'c'), true, 2))?.id).toBe('c');
    expect(chosenRow(withRows(state, 0, [], true, 2))).toBeNull();
    expect(chosenRow(typed(state, 'G', 'j', 'down'))?.id).toBe('c');
    expect(chosenRow(typed(state, 'pageup', 'constructor'))?.id).toBe('a');
  });
});

it('an approval is decided only in its own view, by a decider', () => {
  const { id } = APPROVAL;
  const waits = withRows(
    { ...fresh, mayDecide: true },
    0,
    [{ id, sandboxId: null, approval: APPROVAL, cells: [id] }],
    true,
    1,
  );
  for (const key of ['a', 'r', 'd', 'l']) expect(press(waits, key)).toMatchObject({ state: { question: null } });
  const { state: looking } = press(waits, 'enter');
  expect(looking.look?.lines.join('')).toContain('ls\\u001b[2J');
  for (const [key, verb] of [
    ['a', 'approve'],
    ['r', 'refuse'],
  ] as const) {
    const { state: asked } = press(looking, key);
    expect(asked.question?.asks).toContain(id);
    expect(press(asked, 'y').action).toEqual({ do: verb, approval: APPROVAL });
    expect(press(asked, 'n')).toMatchObject({ state: { question: null, notice: `${id} is not decided` } });
    expect(press({ ...looking, mayDecide: false }, key).state.question).toBeNull();
  }
  for (const key of ['d', 'l']) expect(press(looking, key).action).toBeUndefined();
});
