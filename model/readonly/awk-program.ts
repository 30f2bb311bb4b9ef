import { findRegexEnd } from './regex-end.ts';

/** Keywords after which `/` starts a regular expression. */
const BEFORE_EXPRESSION = new Set('print printf return exit else do in delete if while for'.split(' '));
const STATEMENTS = new Set('BEGIN END next nextfile continue break'.split(' '));
/** Pure functions of awk, mawk and gawk. */
const FUNCTIONS = new Set(
  (
    'length substr index split sub gsub match sprintf sin cos atan2 exp log sqrt int rand srand tolower toupper ' +
    'gensub strftime systime mktime asort asorti patsplit strtonum and or xor lshift rshift compl'
  ).split(' '),
);
/** Words that run, read or write something, or that would defeat this check. */
const REFUSED = new Set(
  'system getline close fflush function func switch case default ARGV ARGC PROCINFO SYMTAB FUNCTAB'.split(' '),
);
const TOKEN = new RegExp(
  [
    '(?<blank>[ \\t]+)',
    '(?<number>0[xX][0-9a-fA-F]+|(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)',
    '(?<word>[A-Za-z_][A-Za-z0-9_]*)',
    '(?<string>"(?:[^"\\\\]|\\\\[\\s\\S])*")',
    '(?<operator>\\+\\+|--|\\*\\*=|\\*\\*|[-+*%^<>=!]=|&&|\\|\\||>>|!~|[-+*%^<>=!~?:;,(){}[\\]$])',
  ].join('|'),
  'y',
);

/**
 * Returns why an awk program is not allowed; null when it only matches, computes and prints to standard output. Refuses
 * running programs, opening files or connections, and ambiguous syntax.
 */
export function checkAwkProgram(program: string): string | null {
  return new AwkProgram(program).fault();
}

class AwkProgram {
  #at = 0;
  /** Kind of the last token: decides whether `/` divides or starts a regular expression. */
  #before: 'operand' | 'operator' | 'unclear' = 'operator';
  /** For each open parenthesis, true after `if`, `while` or `for`. */
  readonly #parentheses: boolean[] = [];
  #control = false;
  /** Depth of parentheses at the current print statement; null outside of one. */
  #printing: number | null = null;

  constructor(private readonly text: string) {}

  fault(): string | null {
    while (this.#at < this.text.length) {
      const char = this.text.charAt(this.#at);
      if (char === '#') return null;
      const fault = char === '/' ? this.#slash() : this.#token();
      if (fault !== null) return `awk: ${fault}`;
    }
    return null;
  }

  #slash(): string | null {
    if (this.#before === 'unclear') return 'what this `/` means is not clear; put parentheses around it';
    if (this.#before === 'operand') {
      this.#at += this.text.startsWith('/=', this.#at) ? 2 : 1;
      this.#before = 'operator';
      return null;
    }
    if (this.text.charAt(this.#at + 1) === '=') return 'write /[=]…/ for a regular expression that begins with `=`';
    const end = findRegexEnd(this.text, this.#at + 1, '/');
    if (end === null) return 'where this regular expression ends is not clear; write `/` in it as `\\/`';
    this.#at = end + 1;
    this.#before = 'operand';
    return null;
  }

  #token(): string | null {
    TOKEN.lastIndex = this.#at;
    const found = TOKEN.exec(this.text);
    if (!found) return `\`${this.text.charAt(this.#at)}\` is not allowed at ${this.#at}`;
    this.#at += found[0].length;
    const { blank, word, operator } = found.groups ?? {};
    if (blank !== undefined) return null;
    if (word !== undefined) return this.#word(word);
    if (operator !== undefined) return this.#operator(operator);
    this.#before = 'operand';
    return null;
  }

  #word(word: string): string | null {
    if (REFUSED.has(word)) return `\`${word}\` is not allowed`;
    if (word === 'print' || word === 'printf') this.#printing = this.#parentheses.length;
    this.#control = word === 'if' || word === 'while' || word === 'for';
    if (BEFORE_EXPRESSION.has(word)) this.#before = 'operator';
    else if (STATEMENTS.has(word) || FUNCTIONS.has(word)) this.#before = 'unclear';
    else {
      this.#before = 'operand';
      if (this.text.charAt(this.#at) === '(') return `\`${word}\` is not a function that is allowed`;
    }
    return null;
  }

  #operator(operator: string): string | null {
    if (operator === '>>' || (operator.startsWith('>') && this.#printing === this.#parentheses.length)) {
      return '`>` after print would write to a file; put a comparison in parentheses';
    }
    if (operator === ':' && this.text.charAt(this.#at) === ':') return 'namespaces are not allowed';
    this.#before = operator === ']' ? 'operand' : operator === '++' || operator === '--' ? 'unclear' : 'operator';
    if (operator === '(') this.#parentheses.push(this.#control);
    this.#control = false;
    if (operator === ')') return this.#closeParenthesis(this.#parentheses.pop());
    if ('{}'.includes(operator) && this.#parentheses.length > 0) return 'a parenthesis is not closed';
    if (operator === ';' || operator === '}') this.#printing = null;
    return null;
  }

  #closeParenthesis(control: boolean | undefined): string | null {
    if (control === undefined) return 'a parenthesis is closed that was not opened';
    this.#before = control ? 'unclear' : 'operand';
    if (this.#printing !== null && this.#printing > this.#parentheses.length) this.#printing = null;
    return null;
  }
}
