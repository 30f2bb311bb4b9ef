import { type Argument, type Pipeline, type ReadonlyCommand, type Refusal, type Stage, textOf } from './command.ts';
import { readWord, Syntax, type Word } from './word.ts';

/** The command that a text says, and where its words are: `positions[pipeline][stage][argument]`. */
export interface Parsed {
  command: ReadonlyCommand;
  positions: number[][][];
}

const CONNECTORS: Record<string, Pipeline['when']> = { '&&': 'success', '||': 'failure', ';': 'always' };
const OPERATOR = /&&|&>>?|&|\|\||\|&|\||;;|;|\(|\)/y;
/** The only redirections there are; what follows must end the word. */
const REDIRECTION = /(?:(?<null>2>[ \t]*\/dev\/null)|(?<out>2>&1)|(?<in><[ \t]*\/dev\/null))(?![^ \t|&;<>()])/y;
const OTHER_REDIRECTION = /[0-9]*[<>]/y;
/** bash opens a descriptor and sets the variable to its number: `{name}<file` (bash(1), REDIRECTION). */
const NAMED_DESCRIPTOR = /\{[A-Za-z_][A-Za-z0-9_]*\}[<>]/y;
/** Of the first word: a word of the shell's own language (POSIX 2.4 and bash). */
const RESERVED = new Set(
  '! { } [[ ]] if then else elif fi do done case esac while until for in select function time coproc'.split(' '),
);
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=/;

/**
 * Parses a caller's text: pipelines of words joined by `&&`, `||` and `;`, with POSIX quoting, comments, patterns and
 * three redirections to nowhere. Everything else that means something to a shell is refused.
 * @param maxLength Characters.
 */
export function parse(text: string, maxLength: number): Parsed | Refusal {
  try {
    checkCharacters(text, maxLength);
    return new Parser(text).parse();
  } catch (error) {
    if (error instanceof Syntax) return { position: error.position, reason: error.message };
    throw error;
  }
}

function checkCharacters(text: string, maxLength: number): void {
  if (text.length > maxLength) throw new Syntax(maxLength, `the command has more than ${maxLength} characters`);
  const control = /[^\P{Cc}\t]/u.exec(text);
  if (control) {
    const name = control[0] === '\n' ? 'a newline' : 'a control character';
    throw new Syntax(control.index, `${name} is not allowed, also not in quotes; a command is one line`);
  }
  const surrogate = /\p{Surrogate}/u.exec(text);
  if (surrogate) throw new Syntax(surrogate.index, 'half of a surrogate pair is not a character');
}

class Parser {
  #at = 0;
  readonly #pipelines: Pipeline[] = [];
  readonly #positions: number[][][] = [];

  constructor(private readonly text: string) {}

  parse(): Parsed {
    let when: Pipeline['when'] = 'always';
    for (;;) {
      this.#pipeline(when);
      const { operator, position } = this.#operator();
      if (operator === '') break;
      const next = CONNECTORS[operator];
      if (next === undefined) throw new Syntax(position, unusable(operator));
      when = next;
      if (operator === ';' && this.#atEnd()) break;
    }
    return { command: { pipelines: this.#pipelines }, positions: this.#positions };
  }

  #pipeline(when: Pipeline['when']): void {
    const stages: Stage[] = [];
    const positions: number[][] = [];
    for (;;) {
      const { stage, words } = this.#stage(stages.length === 0);
      stages.push(stage);
      positions.push(words.map((word) => word.position));
      const before = this.#at;
      if (this.#operator().operator !== '|') {
        this.#at = before;
        break;
      }
    }
    this.#pipelines.push({ when, stages });
    this.#positions.push(positions);
  }

  #stage(first: boolean): { stage: Stage; words: Word[] } {
    const words: Word[] = [];
    const streams: Pick<Stage, 'stdin' | 'stderr'> = { stdin: first ? 'null' : 'pipe', stderr: 'inherit' };
    while (!this.#atEnd()) {
      if (this.#redirection(streams)) continue;
      const word = readWord(this.text, this.#at);
      if (word.end === this.#at) break;
      NAMED_DESCRIPTOR.lastIndex = this.#at;
      if (NAMED_DESCRIPTOR.test(this.text)) {
        throw new Syntax(this.#at, 'a descriptor cannot be given a name; put a blank before `<` or `>`');
      }
      if (words.length === 0) checkProgram(word);
      words.push(word);
      this.#at = word.end;
    }
    const [program, ...rest] = words.map((word) => word.argument);
    if (program === undefined) throw new Syntax(this.#at, 'a program is missing here');
    const argv: [string, ...Argument[]] = [textOf(program), ...rest];
    return { stage: { argv, ...streams }, words };
  }

  #redirection(streams: Pick<Stage, 'stdin' | 'stderr'>): boolean {
    REDIRECTION.lastIndex = this.#at;
    const known = REDIRECTION.exec(this.text);
    if (known) {
      if (known.groups?.['in'] !== undefined) streams.stdin = 'null';
      else streams.stderr = known.groups?.['out'] === undefined ? 'null' : 'stdout';
      this.#at += known[0].length;
      return true;
    }
    OTHER_REDIRECTION.lastIndex = this.#at;
    if (OTHER_REDIRECTION.test(this.text)) {
      throw new Syntax(this.#at, 'only `2>/dev/null`, `2>&1` and `</dev/null` are allowed; quote `<` or `>` as text');
    }
    return false;
  }

  #operator(): { operator: string; position: number } {
    if (this.#atEnd()) return { operator: '', position: this.#at };
    OPERATOR.lastIndex = this.#at;
    const position = this.#at;
    const operator = OPERATOR.exec(this.text)?.[0] ?? '';
    this.#at += operator.length;
    return { operator, position };
  }

  /** Skips blanks, and a comment, which ends where the text does. */
  #atEnd(): boolean {
    while (this.#at < this.text.length && ' \t'.includes(this.text.charAt(this.#at))) this.#at++;
    if (this.text.charAt(this.#at) === '#') this.#at = this.text.length;
    return this.#at === this.text.length;
  }
}

function checkProgram(word: Word): void {
  const { argument, position } = word;
  if (typeof argument !== 'string') throw new Syntax(position, 'a pattern cannot stand for a program; write its name');
  if (RESERVED.has(argument))
    throw new Syntax(position, `\`${argument}\` is of the shell's language; there is no shell`);
  if (ASSIGNMENT.test(argument)) throw new Syntax(position, 'variables cannot be set; the environment is fixed');
}

function unusable(operator: string): string {
  if (operator === '&')
    return '`&` would run it in the background; commands run one after another, joined by `;`, `&&`, `||`';
  if (operator === '(' || operator === ')') return 'parentheses would be a subshell; quote them when they are text';
  return `\`${operator}\` is not allowed here`;
}
