/** Words for removing or ending something, including verbs of commands. */
const REMOVE_ANYTHING = 'delete destroy rm remove del erase drop purge rmi'.split(' ');
const REMOVE = [...REMOVE_ANYTHING, ...'unset revoke forget uninstall close'.split(' ')];
const END = 'stop kill cancel terminate abort halt shutdown poweroff close quit refuse withdraw'.split(' ');

/** Words of other tools, and the equivalent commands. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  stop: 'pause',
  start: 'resume',
  shell: 'ssh',
  push: 'cp',
  status: 'doctor',
};

/** Minimum length of a destructive word whose misspelling is still recognized. */
const UNMISTAKABLE_LENGTH = 6;

interface Candidates {
  /** Words before the unknown one. */
  path: string[];
  /** Commands of the same noun. */
  beside: string[];
  /** Every command of `mayfly`, with the names below it. */
  all: { name: string; verbs: string[] }[];
}

/** Reports whether a command of this name removes or ends something. */
export function isDestroying(verb: string): boolean {
  return REMOVE.includes(verb) || END.includes(verb);
}

/**
 * Finds the command that a mistyped word may mean: first of the same noun, then elsewhere. A destructive one is
 * suggested only for a destructive word, and of the same noun.
 * @returns the words of the command; null when none is near
 */
export function suggest(word: string, { path, beside, all }: Candidates): string[] | null {
  const same = path.length === 1 ? ELSEWHERE[word] : undefined;
  if (same !== undefined) return [...path, same];
  const below = all.flatMap(({ name, verbs }) => verbs.map((verb) => ['mayfly', name, verb]));
  const exact =
    path.length === 1 ? below.filter((words) => words.at(-1) === word || isMisspelled(word, words.at(-1))) : [];
  const [only] = exact;
  if (only !== undefined && (exact.length === 1 || !REMOVE_ANYTHING.includes(only.at(-1) ?? ''))) return only;
  const harmless = beside.filter((name) => !isDestroying(name));
  const here =
    destroying(beside, (known) => known === word) ??
    nearest(word, harmless, 1) ??
    destroying(beside, (known) => isMisspelled(word, known)) ??
    nearest(word, harmless);
  if (here !== null) return [...path, here];
  const elsewhere = [...(path.length === 1 ? [] : all.map(({ name }) => ['mayfly', name])), ...below];
  const names = elsewhere.map((words) => words.at(-1) ?? '').filter((name) => !isDestroying(name));
  const near = nearest(word, names);
  return elsewhere.find((words) => words.at(-1) === near) ?? null;
}

/** Finds the destructive verb of this noun with the meaning of the mistyped word. */
function destroying(beside: string[], isMeant: (known: string) => boolean): string | null {
  const meanings = [REMOVE, END].filter((words) => words.some(isMeant));
  const verbs = meanings.flatMap((words) => [...words.filter(isMeant), ...words]);
  return verbs.find((verb) => beside.includes(verb)) ?? null;
}

/**
 * Detects missing, doubled or swapped letters in a long word; a replaced letter can make another word, as `remote` of
 * `remove`.
 */
function isMisspelled(word: string, known = ''): boolean {
  if (known.length < UNMISTAKABLE_LENGTH || editsBetween(word, known) !== 1) return false;
  const letters = (text: string) => Array.from(text).toSorted().join('');
  return word.length !== known.length || letters(word) === letters(known);
}

/** Finds the name nearest to a mistyped word. @param most maximum number of edits. `@default` a third of its letters */
function nearest(word: string, names: string[], most = Math.max(1, Math.floor(word.length / 3))): string | null {
  const ranked = names.map((name) => ({ name, edits: editsBetween(word, name) }));
  const [best] = ranked.toSorted((a, b) => a.edits - b.edits);
  return best && best.edits <= most ? best.name : null;
}

/**
 * Counts letters omitted, inserted, replaced, or swapped with their neighbour: the optimal string alignment distance.
 */
function editsBetween(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, n) => n)];
  for (let i = 1; i <= a.length; i++) {
    const [above, row] = [rows[i - 1] ?? [], [i]];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (rows[i - 2]?.[j - 2] ?? 0) + 1 : replaced;
      row.push(Math.min(replaced, swapped, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}
