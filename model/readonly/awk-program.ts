import { regexEnd } from './regex-end.ts';

/** After these, `/` begins a regular expression. */
const BEFORE_EXPRESSION = new Set('print printf return exit else do in delete if while for'.split(' '));
const STATEMENTS = new Set('BEGIN END next nextfile continue break'.split(' '));
/** Functions of awk, mawk and gawk that compute and do nothing else. */
const FUNCTIONS = new Set(
  (
    'length substr index split sub gsub match sprintf sin cos atan2 exp log sqrt int rand srand tolower toupper ' +
    'gensub strftime systime mktime asort asorti patsplit strtonum and or xor lshift rshift compl'
  ).split(' '),
);
/** They run, read or write something, or make the rest of this check say too little. */
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
 * What is wrong with an awk program, or null: it may match, compute, and print to its standard output. Nothing that
 * runs a program, opens a file or a connection, or that implementations read differently.
 */
export function awkProgramFault(program: string): string | null {
  return new AwkProgram(program).fault();
}

class AwkProgram {
  #at = 0;
  /** What came last, as far as it decides whether `/` divides, or begins a regular expression. */
  #before: 'operand' | 'operator' | 'unclear' = 'operator';
  /** Of the open parentheses: whether each is that of an `if`, `while` or `for`. */
  readonly #parentheses: boolean[] = [];
  #control = false;
  /** How many parentheses were open when a print statement began; null outside of one. */
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
    const end = regexEnd(this.text, this.#at + 1, '/');
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
    if (operator === ')') return this.#closed(this.#parentheses.pop());
    if ('{}'.includes(operator) && this.#parentheses.length > 0) return 'a parenthesis is not closed';
    if (operator === ';' || operator === '}') this.#printing = null;
    return null;
  }

  #closed(control: boolean | undefined): string | null {
    if (control === undefined) return 'a parenthesis is closed that was not opened';
    this.#before = control ? 'unclear' : 'operand';
    if (this.#printing !== null && this.#printing > this.#parentheses.length) this.#printing = null;
    return null;
  }
}
