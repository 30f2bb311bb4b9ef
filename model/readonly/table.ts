/**
 * Table of programs.json: programs that a command on a source may run, with their arguments. A closed list, read by two
 * checkers that share only this file: `check.ts` here, and the gate's own in go/gate. Anything not listed is refused: a
 * program, an option, a subcommand, a spelling of an option.
 *
 * Parsing styles of arguments (`style`):
 *
 * * `getopt` (default), like GNU getopt_long with permutation: every argument that starts with `-` is an option at any
 *   position, until `--`. `-` alone is an operand. `-abc` is `-a -b -c` as long as these are `flags`; the first of
 *   `values` or `optional` takes the rest of the argument; when nothing is left, one of `values` takes the next
 *   argument, and one of `optional` has no value. `--name` must be complete; `--name=value` or, for `values` only,
 *   `--name value`.
 * * `long`, like find, ip or openssl: the whole argument is the name of an option, `-name` or `--name`; one of `values`
 *   takes the next argument. No bundles, no attached values, no `=`; `--` is refused.
 * * `words`: no options; every argument is an operand, even `-n` and `--`.
 *
 * A separate value may start with `-` only when it is `-` itself or its type is a `pattern` or `words`: so a program
 * that takes the table's value for an option never gets one chosen by the caller.
 */
export interface Table {
  version: 1;
  limits: {
    /** Characters of the caller's text. */
    text: number;
    /** Stages in all pipelines together. */
    stages: number;
    /** Arguments of a stage with the program's name; also after the expansion of patterns. */
    arguments: number;
    /** Bytes of one argument. */
    argumentBytes: number;
  };
  types: Record<string, ValueType>;
  /** Variables allowed for a program: names separated by blanks → type of the value. */
  environment: Record<string, string>;
  programs: Record<string, Program>;
}

/**
 * Type of a value. Built-in types need no entry: `text` is anything; `path` is any non-empty text; `file` is a path
 * whose content is read: no URL, no `/inet/…`, no device but /dev/null and /dev/stdin, no memory or environment of a
 * process (see value.ts); `awkProgram` and `sedScript` are parsed (awk-program.ts, sed-script.ts).
 *
 * Patterns (`{glob}`) are expanded in operands of type `path...` or `file...`, and in find's starting points, but not
 * under xargs; every result is checked as a value again.
 *
 * The whole value must match: `pattern` is in the common subset of ECMAScript and RE2 (no `.`, look-around,
 * back-references, \-classes); `words` are separated by blanks.
 */
export type ValueType = { words: string } | { pattern: string; ignoreCase?: true };

/** Types of the operands in order: `file` one, `file?` at most one, `file...` any number, only as the last. */
export type Operands = string[];

export interface Arguments {
  style?: 'getopt' | 'long' | 'words';
  /** Options without a value, separated by blanks: `-l --long`. */
  flags?: string;
  /** Options with a value: names separated by blanks → type. */
  values?: Record<string, string>;
  /** Options with an attached value only: `-n5`, `--color=auto`. */
  optional?: Record<string, string>;
  /** True when `-5` is an option too (any number of digits). */
  digits?: true;
  /** Absent: none. */
  operands?: Operands;
  /**
   * Other operands with one of these options, as grep has no pattern after `-e`: names separated by blanks → operands.
   */
  operandsWith?: Record<string, Operands>;
  /**
   * True when options must come before all operands: for programs that interpret later arguments differently
   * (`xxd F -e` writes to a file `-e`).
   */
  optionsFirst?: true;
  /** Options of which the first argument must be one, or a bundle that starts with one. */
  first?: string;
  /** Groups of names separated by blanks; at least one option of each is required. */
  require?: string[];
  /** Whole commands that may be piped into it: for programs that send their input to a service. Absent: any. */
  fedBy?: string[];
  /** Required last argument, otherwise ignored: the `]` of `[`. */
  last?: string;
  /**
   * Subcommands, names separated by blanks: the first operand selects one, and the rest is parsed with both its options
   * and these (its own `style` is ignored). `operands` here is then unused.
   */
  verbs?: Record<string, Arguments>;
  /** True when the subcommand may be omitted. */
  verbOptional?: true;
}

export interface Program extends Arguments {
  /** Purpose in a few words. */
  about: string;
  /** Candidate paths; the first existing one is run. */
  paths: string[];
  /** Options, separated by blanks, with which it runs until the timeout; it is ended before its reader. */
  follows?: string;
  /** Deliberate omissions with reasons, for reviewers of the table. */
  leftOut?: string;
  /**
   * Grammar of the arguments where it is special: `find`: options `-H -L -P`, starting points (`path...`), then the
   * expression, in which each argument is one of `flags`, or one of `values` followed by its value. `xargs`: getopt
   * options without permutation, then a command checked by this table, whose operands may end with unchecked items; see
   * {@link Program.xargs}.
   */
  language?: 'find' | 'xargs';
  /**
   * Safety under xargs, whose items can be anything, even `-o`. `--`: options come before a `--`, so that items are
   * operands (check.ts inserts it, the gate requires it). `plain`: has no relevant options. Its operands must end with
   * a repeatable one. Absent: xargs may not run it.
   */
  xargs?: '--' | 'plain';
}

/** System folders in which a program may be given by its path. */
const PROGRAM_FOLDERS = ['/usr/bin', '/usr/sbin', '/bin', '/sbin'];

/** Finds a program by name, or by path in a standard folder. */
export function findProgram(table: Table, written: string): Program | undefined {
  const slash = written.lastIndexOf('/');
  if (slash >= 0 && !PROGRAM_FOLDERS.includes(written.slice(0, slash))) return undefined;
  const name = written.slice(slash + 1);
  return Object.hasOwn(table.programs, name) ? table.programs[name] : undefined;
}
