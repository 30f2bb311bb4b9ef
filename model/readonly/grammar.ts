import { type Argument, type Pipeline, type ReadonlyCommand, type Refusal, type Stage, textOf } from './command.ts';
import { Streams } from './streams.ts';
import { readWord, SyntaxFault, type Word } from './word.ts';

/** Offsets of a stage's words in the text. */
interface StagePositions {
  argv: number[];
  environment: number[];
}

/** Parsed command with the offsets of its words: `positions[pipeline][stage]`. */
interface Parsed {
  command: ReadonlyCommand;
  positions: StagePositions[][];
}

const CONNECTORS: Record<string, Pipeline['when']> = {
  '&&': 'success',
  '||': 'failure',
  ';': 'always',
  '\n': 'always',
};
const OPERATOR = /&&|&|\|\||\|&|\||;;|;|\n|\(|\)/y;
/** Descriptor variable of bash: `{name}<file` (bash(1), REDIRECTION). */
const NAMED_DESCRIPTOR = /\{[A-Za-z_][A-Za-z0-9_]*\}[<>]/y;
/** Reserved words of POSIX (2.4) and bash, checked for the first word. */
const RESERVED = new Set(
  '! { } [[ ]] if then else elif fi do done case esac while until for in select function time coproc'.split(' '),
);
/** Assignment before the program, with an unquoted name (POSIX 2.10.2, rule 7). */
const ASSIGNMENT = /[A-Za-z_][A-Za-z0-9_]*=/y;
const OTHER_ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=/;

/**
 * Parses a caller's text: pipelines joined by `&&`, `||`, `;` and line ends, with POSIX quoting, comments, patterns,
 * assignments, and redirections to /dev/null. Refuses all other shell syntax.
 * @param maxLength characters
 */
export function parse(text: string, maxLength: number): Parsed | Refusal {
  try {
    checkCharacters(text, maxLength);
    return new Parser(text).parse();
  } catch (error) {
    if (error instanceof SyntaxFault) return { position: error.position, reason: error.message };
    throw error;
  }
}

function checkCharacters(text: string, maxLength: number): void {
  if (text.length > maxLength) throw new SyntaxFault(maxLength, `the command has more than ${maxLength} characters`);
  const control = /[^\P{Cc}\t\n]/u.exec(text);
  if (control) {
    const name = control[0] === '\r' ? 'a carriage return' : 'a control character';
    throw new SyntaxFault(control.index, `${name} is not allowed, also not in quotes; lines end in a newline alone`);
  }
  const separator = /[\u2028\u2029]/.exec(text);
  if (separator) throw new SyntaxFault(separator.index, 'a line or paragraph separator of Unicode is not allowed');
  const surrogate = /\p{Surrogate}/u.exec(text);
  if (surrogate) throw new SyntaxFault(surrogate.index, 'half of a surrogate pair is not a character');
}

class Parser {
  #at = 0;
  readonly #pipelines: Pipeline[] = [];
  readonly #positions: StagePositions[][] = [];

  constructor(private readonly text: string) {}

  parse(): Parsed {
    let when: Pipeline['when'] = 'always';
    this.#skipLines();
    for (;;) {
      this.#pipeline(when);
      const { operator, position } = this.#operator();
      if (operator === '') break;
      const next = CONNECTORS[operator];
      if (next === undefined) throw new SyntaxFault(position, describeUnusable(operator));
      when = next;
      this.#skipLines();
      if (when === 'always' && this.#atEnd()) break;
    }
    return { command: { pipelines: this.#pipelines }, positions: this.#positions };
  }

  #pipeline(when: Pipeline['when']): void {
    const stages: Stage[] = [];
    const positions: StagePositions[] = [];
    for (;;) {
      const { stage, at } = this.#stage(stages.length === 0);
      stages.push(stage);
      positions.push(at);
      const before = this.#at;
      if (this.#operator().operator !== '|') {
        this.#at = before;
        break;
      }
      this.#skipLines();
    }
    this.#pipelines.push({ when, stages });
    this.#positions.push(positions);
  }

  #stage(first: boolean): { stage: Stage; at: StagePositions } {
    const words: Word[] = [];
    const variables: Word[] = [];
    const streams = new Streams(first);
    while (!this.#atEnd()) {
      const taken = streams.take(this.text, this.#at);
      this.#at += taken;
      if (taken > 0) continue;
      const word = this.#word(words.length === 0);
      if (word === null) break;
      const isVariable = words.length === 0 && this.#isAt(ASSIGNMENT, word.position);
      (isVariable ? variables : words).push(word);
    }
    const [program, ...rest] = words.map((word) => word.argument);
    if (program === undefined) throw new SyntaxFault(this.#at, 'a program is missing here');
    const argv: [string, ...Argument[]] = [textOf(program), ...rest];
    const environment = variables.map((word) => textOf(word.argument));
    const at = { argv: words.map(({ position }) => position), environment: variables.map(({ position }) => position) };
    return { stage: { ...(environment.length > 0 && { environment }), argv, ...streams.said }, at };
  }

  /** @param mayBeProgram true when only assignments came before; null at an operator */
  #word(mayBeProgram: boolean): Word | null {
    const word = readWord(this.text, this.#at);
    if (word.end === this.#at) return null;
    if (this.#isAt(NAMED_DESCRIPTOR, this.#at)) {
      throw new SyntaxFault(this.#at, 'a descriptor cannot be given a name; put a blank before `<` or `>`');
    }
    if (mayBeProgram && !this.#isAt(ASSIGNMENT, this.#at)) checkProgram(word);
    this.#at = word.end;
    return word;
  }

  #isAt(what: RegExp, position: number): boolean {
    what.lastIndex = position;
    return what.test(this.text);
  }

  #operator(): { operator: string; position: number } {
    if (this.#atEnd()) return { operator: '', position: this.#at };
    OPERATOR.lastIndex = this.#at;
    const position = this.#at;
    const operator = OPERATOR.exec(this.text)?.[0] ?? '';
    this.#at += operator.length;
    return { operator, position };
  }

  /** Skips blanks, continued lines between words, and a comment; true at the end of the text. */
  #atEnd(): boolean {
    for (;;) {
      if (this.text.startsWith('\\\n', this.#at)) this.#at += 2;
      else if (this.#at < this.text.length && ' \t'.includes(this.text.charAt(this.#at))) this.#at++;
      else break;
    }
    if (this.text.charAt(this.#at) === '#') {
      const end = this.text.indexOf('\n', this.#at);
      this.#at = end < 0 ? this.text.length : end;
    }
    return this.#at === this.text.length;
  }

  /** Skips empty lines. */
  #skipLines(): void {
    while (!this.#atEnd() && this.text.charAt(this.#at) === '\n') this.#at++;
  }
}

function checkProgram(word: Word): void {
  const { argument, position } = word;
  if (typeof argument !== 'string')
    throw new SyntaxFault(position, 'a pattern cannot stand for a program; write its name');
  if (RESERVED.has(argument))
    throw new SyntaxFault(position, `\`${argument}\` is of the shell's language; there is no shell`);
  if (OTHER_ASSIGNMENT.test(argument))
    throw new SyntaxFault(position, 'a variable is set as NAME=value, its name unquoted');
}

function describeUnusable(operator: string): string {
  if (operator === '&')
    return '`&` would run it in the background; commands run one after another, joined by `;`, `&&`, `||`';
  if (operator === '(' || operator === ')') return 'parentheses would be a subshell; quote them when they are text';
  return `\`${operator}\` is not allowed here`;
}
