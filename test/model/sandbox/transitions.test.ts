import { expect, test } from 'vitest';
import { isFinal, SANDBOX_STATES, type SandboxState } from '../../../model/sandbox/sandbox-state.ts';
import { assertTransition, TRANSITIONS } from '../../../model/sandbox/transitions.ts';

const ID = 'sbx-0123456789abcdef';

function reachable(from: SandboxState): Set<SandboxState> {
  const found = new Set<SandboxState>();
  const open = [from];
  for (let state = open.pop(); state; state = open.pop()) {
    for (const next of TRANSITIONS[state]) {
      if (found.has(next)) continue;
      found.add(next);
      open.push(next);
    }
  }
  return found;
}

test('every state is reachable from a request, and can end', () => {
  expect([...reachable('requested'), 'requested'].toSorted()).toEqual([...SANDBOX_STATES].toSorted());
  const living = SANDBOX_STATES.filter((state) => !isFinal(state));
  for (const state of living) expect(reachable(state)).toContain('destroyed');
});

test('only destroying leads to an end, and final states are final', () => {
  for (const state of SANDBOX_STATES) {
    const ends = TRANSITIONS[state].some(isFinal);
    expect([state, ends]).toEqual([state, state === 'destroying']);
  }
  expect([...reachable('destroying')].toSorted()).toEqual(['destroyed', 'failed']);
  for (const state of SANDBOX_STATES.filter(isFinal)) expect([...reachable(state)]).toEqual([]);
});

test.each([
  ['destroying', 'running'],
  ['destroyed', 'running'],
  ['destroyed', 'destroying'],
  ['failed', 'destroying'],
  ['running', 'destroyed'],
  ['running', 'creating'],
  ['hibernated', 'paused'],
] as const)('%s is not followed by %s', (from, to) => {
  expect(() => assertTransition(ID, from, to)).toThrow(`${ID} cannot go from ${from} to ${to}.`);
});

test('a record may keep its state', () => {
  for (const state of SANDBOX_STATES) assertTransition(ID, state, state);
});
