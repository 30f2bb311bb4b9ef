/** Lines around a change. */
const CONTEXT = 3;
/** More differences than anybody reads: then the differing middle is shown as replaced. Memory: half its square of numbers. */
const MAX_EDITS = 2_000;
/** Comparisons of two lines, some 100 ms: texts come from guests, who can choose ones that take long. */
const MAX_STEPS = 20_000_000;
const NO_NEWLINE = '\\ No newline at end of file\n';

/** Which lines are only in the first text, and which only in the second. */
interface Script {
  gone: Uint8Array;
  fresh: Uint8Array;
}

/**
 * The difference of two texts in the unified format of diff(1), which patch(1) takes; empty when they are the same.
 * Right in any case; the shortest unless more than {@link MAX_EDITS} lines differ, or it takes too long to find.
 * @param labels after `---` and `+++`: one line each
 */
export function unifiedDiff(before: string, after: string, labels: { before: string; after: string }): string {
  if (before === after) return '';
  const [old, now] = [linesOf(before), linesOf(after)];
  const changes = changesOf(scriptOf(...numbered(old, now)));
  return `--- ${labels.before}\n+++ ${labels.after}\n${hunksOf(old, now, changes)}`;
}

/** Each with its newline, which the last may lack. */
function linesOf(text: string): string[] {
  const lines: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const next = end === -1 ? text.length : end + 1;
    lines.push(text.slice(at, next));
    at = next;
  }
  return lines;
}

/** Equal lines become equal numbers. */
function numbered(old: string[], now: string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const numberOf = (line: string) => {
    const known = numbers.get(line);
    if (known !== undefined) return known;
    numbers.set(line, numbers.size);
    return numbers.size - 1;
  };
  return [Int32Array.from(old, numberOf), Int32Array.from(now, numberOf)];
}

function scriptOf(old: Int32Array, now: Int32Array): Script {
  let start = 0;
  const shorter = Math.min(old.length, now.length);
  while (start < shorter && old[start] === now[start]) start++;
  let end = 0;
  while (end < shorter - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  const middle = { old: old.subarray(start, old.length - end), now: now.subarray(start, now.length - end) };
  const script = { gone: new Uint8Array(old.length), fresh: new Uint8Array(now.length) };
  const trace = traceOf(middle.old, middle.now);
  if (trace) walkBack(trace, middle.old.length, middle.now.length, script, start);
  else {
    script.gone.fill(1, start, old.length - end);
    script.fresh.fill(1, start, now.length - end);
  }
  return script;
}

/**
 * How far one gets in `old` with 0, 1, 2 … edits on each diagonal (E. Myers, An O(ND) difference algorithm, 1986).
 * @returns for d edits the places on the diagonals -d, -d+2 … d; null when it is too much
 */
function traceOf(old: Int32Array, now: Int32Array): Int32Array[] | null {
  const trace: Int32Array[] = [];
  let steps = 0;
  for (let d = 0; d <= MAX_EDITS; d++) {
    const reached = new Int32Array(d + 1);
    const previous = trace.at(-1);
    trace.push(reached);
    for (let i = 0; i <= d; i++) {
      const diagonal = 2 * i - d;
      let x = previous ? placeAfterEdit(previous, i) : 0;
      const from = x;
      while (x < old.length && x - diagonal < now.length && old[x] === now[x - diagonal]) x++;
      steps += x - from + 1;
      reached[i] = x;
      if (x >= old.length && x - diagonal >= now.length) return trace;
    }
    if (steps > MAX_STEPS) return null;
  }
  return null;
}

/** An insertion from the diagonal above, or a removal from the one below: whichever gets farther. */
function placeAfterEdit(previous: Int32Array, i: number): number {
  return isInsertion(previous, i) ? (previous[i] ?? 0) : (previous[i - 1] ?? 0) + 1;
}

function isInsertion(previous: Int32Array, i: number): boolean {
  return i === 0 || (i < previous.length && (previous[i - 1] ?? 0) < (previous[i] ?? 0));
}

function walkBack(trace: Int32Array[], oldLength: number, nowLength: number, script: Script, start: number): void {
  let diagonal = oldLength - nowLength;
  for (let d = trace.length - 1; d > 0; d--) {
    const previous = trace[d - 1] ?? new Int32Array();
    const i = (diagonal + d) / 2;
    const x = placeAfterEdit(previous, i);
    if (isInsertion(previous, i)) {
      script.fresh[start + x - diagonal - 1] = 1;
      diagonal++;
    } else {
      script.gone[start + x - 1] = 1;
      diagonal--;
    }
  }
}

/** Lines of the first text that become lines of the second: `from` is in it, `to` is not. Either may be none. */
interface Change {
  old: { from: number; to: number };
  now: { from: number; to: number };
}

function changesOf({ gone, fresh }: Script): Change[] {
  const changes: Change[] = [];
  for (let i = 0, j = 0; i < gone.length || j < fresh.length; i++, j++) {
    const [oldFrom, nowFrom] = [i, j];
    while (gone[i] === 1) i++;
    while (fresh[j] === 1) j++;
    if (i === oldFrom && j === nowFrom) continue;
    changes.push({ old: { from: oldFrom, to: i }, now: { from: nowFrom, to: j } });
  }
  return changes;
}

/** Changes whose contexts would touch are in one hunk. */
function hunksOf(old: string[], now: string[], changes: Change[]): string {
  const parts: string[] = [];
  for (let at = 0; at < changes.length; ) {
    let end = at + 1;
    while (end < changes.length && startOf(changes, end) - endOf(changes, end - 1) <= 2 * CONTEXT) end++;
    parts.push(hunkOf(old, now, changes.slice(at, end)));
    at = end;
  }
  return parts.join('');
}

function startOf(changes: Change[], at: number): number {
  return changes[at]?.old.from ?? 0;
}

function endOf(changes: Change[], at: number): number {
  return changes[at]?.old.to ?? 0;
}

function hunkOf(old: string[], now: string[], changes: Change[]): string {
  const before = Math.min(CONTEXT, startOf(changes, 0));
  const from = startOf(changes, 0) - before;
  const to = Math.min(old.length, endOf(changes, changes.length - 1) + CONTEXT);
  const lines: string[] = [];
  const add = (sign: string, text: string[], first: number, end: number) => {
    for (let i = first; i < end; i++) lines.push(signed(sign, text[i] ?? ''));
  };
  let at = from;
  for (const change of changes) {
    add(' ', old, at, change.old.from);
    add('-', old, change.old.from, change.old.to);
    add('+', now, change.now.from, change.now.to);
    at = change.old.to;
  }
  add(' ', old, at, to);
  const grown = changes.reduce((sum, change) => sum + lengthOf(change.now) - lengthOf(change.old), 0);
  const nowFrom = (changes[0]?.now.from ?? 0) - before;
  return `@@ -${rangeOf(from, to - from)} +${rangeOf(nowFrom, to - from + grown)} @@\n${lines.join('')}`;
}

function lengthOf({ from, to }: { from: number; to: number }): number {
  return to - from;
}

function signed(sign: string, line: string): string {
  return line.endsWith('\n') ? sign + line : `${sign}${line}\n${NO_NEWLINE}`;
}

/** A range without lines is named by the line before it (diff(1), Detailed Unified). */
function rangeOf(from: number, count: number): string {
  if (count === 1) return String(from + 1);
  return `${count === 0 ? from : from + 1},${count}`;
}
