/** Word of a command line; null when only a shell can expand it. */
export type Word = string | null;

/** Most commands of a line that are parsed. */
const MOST_COMMANDS = 2_000;

/** Commands of a line, each as program and arguments. */
export type ShellCommands = readonly (readonly Word[])[];

/** Parser state: a line and the current offset. */
interface Reading {
  readonly line: string;
  at: number;
}

const BLANK = /(?:[ \t]+|#[^\n]*)+/y;
const OPERATOR = /&&|\|\||[;|\n&]/y;
const REDIRECTION = /\d?(?:>>|>\||<>|[<>]&|<(?!<)|>)[ \t]*/y;
/** Syntax that shells interpret differently: `&>`, `|&`, `;&`, `>&file`, `12>`, `{fd}>`, `>!`, `>>|`. */
const SHELL_DEPENDENT = /&>|[|;]&|>!|>>[|!]|\d{2,}[<>]|[<>]&(?![ \t]*(?:\d|-)(?:[\s;&|<>]|$))|\{\w+\}[<>]/y;
/** Literal characters. */
const PLAIN = /[^\s;&|<>()'"\\`$*?[\]{}~\p{Cc}\p{Cf}]+/uy;
/** Characters that a shell expands; a lone brace or bracket is a word. */
const EXPANSION = /[*?[\]{}~]/y;
const BRACE = /[{}[\]](?=$|[\s;&|])/y;
const PARAMETER = /\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\}|[0-9?@*#!$-])/y;
const SINGLE = /'([^']*)'/y;
const DOUBLE = /"([^"\\`]*)"/y;
const END = /$|[\s;&|<>]/y;

const ASSIGNMENT = /^([A-Za-z_][A-Za-z0-9_]*)(\+?)=/;
/** Variables that change the meaning of a program's name, or that run code before it. */
const STEERING =
  /^(?:PATH|IFS|ENV|BASH_ENV|BASH_FUNC.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|LD_.*|PYTHON.*|PERL5.*|RUBY.*|NODE_OPTIONS)$/;
/** Keywords before a command. */
const BEFORE = new Set(['if', 'then', 'else', 'elif', 'while', 'until', 'do', '!', '{']);
/** Keywords that close a compound command. */
const AFTER = new Set(['fi', 'done', '}']);
/** Commands with a grammar that this parser does not support. */
const UNSUPPORTED = new Set(['for', 'case', 'select', 'function', 'coproc', '[[']);
/** Precommand words of zsh or fish, which may be the login shell; elsewhere these are programs. */
const ZSH_FISH_WORDS = new Set('- noglob nocorrect repeat foreach and or not begin switch'.split(' '));

/** True when an environment variable can change which programs a command line runs. */
export function isSteering(variable: string): boolean {
  return STEERING.test(variable);
}

/**
 * Parses a line of POSIX shell without running it: quotes, lists, pipelines, redirections, `if` and `while`. Does not
 * parse substitutions, functions, subshells, here-documents, backslashes, or syntax that shells interpret differently.
 * @returns null when the line has any of those, or more than {@link MOST_COMMANDS} commands
 */
export function parseShellCommands(line: string): ShellCommands | null {
  const reading: Reading = { line, at: 0 };
  const commands: Word[][] = [[]];
  for (;;) {
    take(reading, BLANK);
    if (reading.at === line.length) return stripKeywords(commands);
    if (isAt(reading, SHELL_DEPENDENT)) return null;
    if (take(reading, OPERATOR)) {
      if (commands.length === MOST_COMMANDS) return null;
      commands.push([]);
      continue;
    }
    const isTarget = take(reading, REDIRECTION) !== null;
    const word = takeWord(reading);
    if (word === undefined) return null;
    if (!isTarget) commands.at(-1)?.push(word);
  }
}

/** Consumes a match of the pattern at the current offset; null when there is none. */
function take(reading: Reading, pattern: RegExp): RegExpExecArray | null {
  pattern.lastIndex = reading.at;
  const found = pattern.exec(reading.line);
  if (found) reading.at += found[0].length;
  return found;
}

/** Parses a word. @returns undefined without a word, or when it cannot be parsed */
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

/** True for keywords that are not parsed, and for `=nc`, which zsh expands to the path of nc. */
function isUnsupported(word: string): boolean {
  return UNSUPPORTED.has(word) || ZSH_FISH_WORDS.has(word) || word.startsWith('=');
}

/** Strips keywords and assignments; null where those change what runs. */
function stripKeywords(commands: readonly Word[][]): ShellCommands | null {
  const found: Word[][] = [];
  for (const words of commands) {
    let from = 0;
    for (; from < words.length; from++) {
      const word = words[from];
      if (typeof word !== 'string') break;
      const [, variable, plus] = ASSIGNMENT.exec(word) ?? [];
      // dash runs `A+=b` as a command.
      if (isUnsupported(word) || plus === '+' || (variable !== undefined && isSteering(variable))) return null;
      if (!BEFORE.has(word) && !AFTER.has(word) && variable === undefined) break;
    }
    if (from < words.length) found.push(words.slice(from));
  }
  return found;
}
