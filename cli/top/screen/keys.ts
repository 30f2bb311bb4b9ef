import type { Approval } from '../../../clients/typescript/http/openapi.ts';
import { approvalLines } from '../../approval/approval-text.ts';
import { cellText } from '../rows/section.ts';
import { type Action, bodyHeight, chosenRow, moveSelection, type Question, type State, shownList } from './state.ts';

interface Pressed {
  state: State;
  action?: Action;
}

/**
 * Handles one key.
 * @param key a character, or a name: `up`, `pagedown`, `enter`, `escape`, `tab`, `ctrl-c`, …; pasted text is ignored
 */
export function press(state: State, key: string): Pressed {
  if (key === 'ctrl-c') return { state, action: { do: 'quit' } };
  if (key === 'ctrl-z') return { state, action: { do: 'suspend' } };
  if (key === 'ctrl-l') return { state, action: { do: 'redraw' } };
  const cleared = { ...state, notice: null };
  if (state.question) return answerQuestion(cleared, state.question, key);
  return state.look ? handleDetailKey(cleared, key) : handleListKey(cleared, key);
}

/** Answers a question; only `y` means yes, and applies to its own subject. */
function answerQuestion(state: State, { action, otherwise }: Question, key: string): Pressed {
  const asked = { ...state, question: null };
  return key === 'y' ? { state: asked, action } : { state: { ...asked, notice: otherwise } };
}

function handleDetailKey(state: State, key: string): Pressed {
  const { look } = state;
  if (!look) return { state };
  if (key === 'q' || key === 'escape' || key === 'enter') return { state, action: { do: 'unlook' } };
  const by = stepOf(state, key, look.lines.length);
  if (by === null && look.approval) return onApproval(state, key, look.approval);
  if (by === null) return look.sandboxId === null ? { state } : onSandbox(state, key, look.sandboxId);
  const lowest = Math.max(0, look.lines.length - bodyHeight(state.size));
  return { state: { ...state, look: { ...look, top: Math.min(Math.max(0, look.top + by), lowest) } } };
}

function handleListKey(state: State, key: string): Pressed {
  if (key === 'q') return { state, action: { do: 'quit' } };
  const count = state.names.length;
  const nth = /^[1-9]$/.test(key) ? Number(key) - 1 : -1;
  if (nth >= 0 && nth < count) return { state: { ...state, shown: nth } };
  if (key === 'tab' || key === 'right') return { state: { ...state, shown: (state.shown + 1) % count } };
  if (key === 'shift-tab' || key === 'left') return { state: { ...state, shown: (state.shown + count - 1) % count } };
  const by = stepOf(state, key, shownList(state).rows.length);
  if (by !== null) return { state: moveSelection(state, by) };
  const { sandboxId = null, approval } = chosenRow(state) ?? {};
  if (approval && key === 'enter') return { state: { ...state, look: lookAt(approval) } };
  if (sandboxId === null) return { state };
  if (key === 'enter') return { state, action: { do: 'look', sandboxId } };
  return onSandbox(state, key, sandboxId);
}

/** Handles keys that change a sandbox; ignored without the permission. */
function onSandbox(state: State, key: string, sandboxId: string): Pressed {
  if (!state.mayChange) return { state };
  if (key === 'l') return { state, action: { do: 'log-in', sandboxId } };
  if (key !== 'd') return { state };
  const asks = `Destroy ${sandboxId}? y or n`;
  const question = { asks, action: { do: 'destroy', sandboxId }, otherwise: `${sandboxId} is not destroyed` } as const;
  return { state: { ...state, question } };
}

/** Shows everything that the decision covers, with nothing hidden. */
function lookAt(approval: Approval) {
  return { sandboxId: null, approval, lines: approvalLines(approval).map(cellText), top: 0 };
}

/** Handles the keys that decide the shown approval. */
function onApproval(state: State, key: string, approval: Approval): Pressed {
  const act = { a: 'approve', r: 'refuse' }[key] as 'approve' | 'refuse' | undefined;
  if (!state.mayDecide || !act) return { state };
  const asks = `${act === 'approve' ? 'Approve' : 'Refuse'} ${approval.id}? y or n`;
  const question = { asks, action: { do: act, approval }, otherwise: `${approval.id} is not decided` } as const;
  return { state: { ...state, question } };
}

/** Returns the number of lines that a key moves down; null: it does not move. */
function stepOf({ size }: State, key: string, length: number): number | null {
  const page = bodyHeight(size);
  const steps: Record<string, number> = {
    down: 1,
    j: 1,
    up: -1,
    k: -1,
    pagedown: page,
    ' ': page,
    pageup: -page,
    home: -length,
    g: -length,
    end: length,
    G: length,
  };
  return Object.hasOwn(steps, key) ? (steps[key] ?? null) : null;
}
