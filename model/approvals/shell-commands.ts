/** A word of a command line; null where only a shell can say what it becomes. */
export type Word = string | null;

/** The commands of a line, each its program and arguments. */
export type ShellCommands = readonly (readonly Word[])[];

/** A line, and how far it was read. */
interface Reading {
  readonly line: string;
  at: number;
}

const BLANK = /(?:[ \t]+|#[^\n]*)+/y;
const OPERATOR = /&&|\|\||[;|\n&]/y;
const REDIRECTION = /\d?(?:>>|>\||<>|[<>]&|<(?!<)|>)[ \t]*/y;
/** Means one thing to one shell and another to the next: `&>`, `|&`, `;&`, `>&file`, `12>`, `{fd}>`, `>!`, `>>|`. */
const DIFFERS = /&>|[|;]&|>!|>>[|!]|\d{2,}[<>]|[<>]&(?![ \t]*(?:\d|-)(?:[\s;&|<>]|$))|\{\w+\}[<>]/y;
/** Stands for itself, in one or many. */
const PLAIN = /[^\s;&|<>()'"\\`$*?[\]{}~\p{Cc}\p{Cf}]+/uy;
/** Has a shell put something else in place of the word; a brace or bracket alone is a word. */
const EXPANSION = /[*?[\]{}~]/y;
const BRACE = /[{}[\]](?=$|[\s;&|])/y;
const PARAMETER = /\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\}|[0-9?@*#!$-])/y;
const SINGLE = /'([^']*)'/y;
const DOUBLE = /"([^"\\`]*)"/y;
const END = /$|[\s;&|<>]/y;

const ASSIGNMENT = /^([A-Za-z_][A-Za-z0-9_]*)(\+?)=/;
/** Decide what a program's name means, or run something before it. */
const STEERING =
  /^(?:PATH|IFS|ENV|BASH_ENV|BASH_FUNC.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|LD_.*|PYTHON.*|PERL5.*|RUBY.*|NODE_OPTIONS)$/;
/** Stand before a command. */
const BEFORE = new Set(['if', 'then', 'else', 'elif', 'while', 'until', 'do', '!', '{']);
/** End what such a word began. */
const AFTER = new Set(['fi', 'done', '}']);
/** Of commands whose own grammar is not read here. */
const UNREAD = new Set(['for', 'case', 'select', 'function', 'coproc', '[[']);
/** Run what follows in zsh or fish, which may be the login shell; elsewhere they are programs. */
const OTHERS_WORDS = new Set('- noglob nocorrect repeat foreach and or not begin switch'.split(' '));

/** Whether a variable of the environment can change what a command line runs. */
export function isSteering(variable: string): boolean {
  return STEERING.test(variable);
}

/**
 * The commands of a line of POSIX shell, as far as they can be known without one: quotes, lists, pipelines, redirections,
 * `if` and `while`. Substitutions, functions, subshells, here-documents and backslashes are not followed, nor is what shells
 * read differently.
 * @returns null when it has any of those
 */
export function shellCommands(line: string): ShellCommands | null {
  const reading: Reading = { line, at: 0 };
  const commands: Word[][] = [[]];
  for (;;) {
    take(reading, BLANK);
    if (reading.at === line.length) return simple(commands);
    if (isAt(reading, DIFFERS)) return null;
    if (take(reading, OPERATOR)) {
      commands.push([]);
      continue;
    }
    const isTarget = take(reading, REDIRECTION) !== null;
    const word = takeWord(reading);
    if (word === undefined) return null;
    if (!isTarget) commands.at(-1)?.push(word);
  }
}

/** What is there of a pattern, which is passed. */
function take(reading: Reading, pattern: RegExp): RegExpExecArray | null {
  pattern.lastIndex = reading.at;
  const found = pattern.exec(reading.line);
  if (found) reading.at += found[0].length;
  return found;
}

/** @returns undefined when it cannot be read, or is none */
function takeWord(reading: Reading): Word | undefined {
  let text = '';
  let isKnown = true;
  const start = reading.at;
  do {
    const part = takePart(reading);
    if (part === undefined) return undefined;
    if (part === null) isKnown = false;
    else text += part;
  } while (!isAtEnd(reading));
  if (reading.at === start) return undefined;
  return isKnown ? text : null;
}

function isAtEnd(reading: Reading): boolean {
  return isAt(reading, END);
}

function isAt({ line, at }: Reading, pattern: RegExp): boolean {
  pattern.lastIndex = at;
  return pattern.test(line);
}

function takePart(reading: Reading): Word | undefined {
  const known = take(reading, PLAIN)?.[0] ?? take(reading, BRACE)?.[0] ?? take(reading, SINGLE)?.[1];
  if (known !== undefined) return known;
  if (take(reading, EXPANSION) || take(reading, PARAMETER)) return null;
  const quoted = take(reading, DOUBLE)?.[1];
  if (quoted?.includes('$') !== true) return quoted;
  return /\$\(|\$\{(?![A-Za-z0-9_]+\})/.test(quoted) ? undefined : null;
}

/** zsh takes `=nc` for the path of nc. */
function isUnread(word: string): boolean {
  return UNREAD.has(word) || OTHERS_WORDS.has(word) || word.startsWith('=');
}

/** Without words of the grammar and assignments; null where those change what runs. */
function simple(commands: readonly Word[][]): ShellCommands | null {
  const found: Word[][] = [];
  for (const words of commands) {
    let from = 0;
    for (; from < words.length; from++) {
      const word = words[from];
      if (typeof word !== 'string') break;
      const [, variable, plus] = ASSIGNMENT.exec(word) ?? [];
      // `A+=b` is a command to dash.
      if (isUnread(word) || plus === '+' || (variable !== undefined && isSteering(variable))) return null;
      if (!BEFORE.has(word) && !AFTER.has(word) && variable === undefined) break;
    }
    if (from < words.length) found.push(words.slice(from));
  }
  return found;
}
