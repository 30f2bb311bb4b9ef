/**
 * What programs.json says: which programs a command on a source may run, and with which arguments. It is a closed
 * list, read by two checkers that share nothing but this file: `check.ts` here, and the gate's own in go/gate.
 * What is not in it is refused: a program, a flag, a subcommand, a form of writing a flag.
 *
 * How arguments are read, in short (`style`):
 *
 * * `getopt` (the default), as GNU getopt_long with permutation: every argument that starts with `-`, wherever it is,
 *   is an option, until `--`. `-` alone is an operand.
 *   `-abc` is `-a -b -c` for as long as they are `flags`; the first of `values` or `optional` takes the rest of the
 *   argument; when nothing is left, one of `values` takes the next argument, and one of `optional` has no value.
 *   `--name` must be written out, abbreviations are refused; `--name=value` or, for `values` only, `--name value`.
 * * `long`, as find, ip or openssl have it: the whole argument is the name of an option, `-name` or `--name`; one of
 *   `values` takes the next argument. No bundles, nothing attached, no `=`, and `--` is refused.
 * * `words`: no options at all, every argument is an operand, also `-n` and `--`.
 *
 * A value that is an argument of its own and more than `-` may start with `-` only when its type is a `pattern` or
 * `words`, so that a program that sees an option where the table sees a value is not given one of the caller's.
 */
export interface Table {
  version: 1;
  limits: {
    /** Characters of the caller's text. */
    text: number;
    /** Stages in all pipelines together. */
    stages: number;
    /** Arguments of a stage, the program's name among them; also after patterns were expanded. */
    arguments: number;
    /** Bytes of one argument. */
    argumentBytes: number;
  };
  types: Record<string, ValueType>;
  /** Variables that may be set for one program, names by blanks → type of the value. */
  environment: Record<string, string>;
  programs: Record<string, Program>;
}

/**
 * A type of values by name; the built-in ones need no entry:
 * `text` is anything; `path` is anything but nothing; `file` is a path whose content is read: no URL, no `/inet/…`, no
 * device but /dev/null and /dev/stdin, no memory or environment of a process (see value.ts); `awkProgram` and
 * `sedScript` are parsed (awk-program.ts, sed-script.ts).
 *
 * Patterns (`{glob}`) are expanded in operands of type `path...` or `file...`, and in find's starting points, but not
 * under xargs; every result is checked as a value again.
 *
 * The whole value must match: `pattern` is in what ECMAScript and RE2 have in common (no `.`, no look-around, no
 * back-references, no \-classes), `words` are separated by blanks.
 */
export type ValueType = { words: string } | { pattern: string; ignoreCase?: true };

/** Names of types in the order of the operands: `file` one, `file?` one or none, `file...` any number, only the last. */
export type Operands = string[];

export interface Arguments {
  style?: 'getopt' | 'long' | 'words';
  /** Options without a value, by blanks: `-l --long`. */
  flags?: string;
  /** Options with a value: names by blanks → type. */
  values?: Record<string, string>;
  /** Options whose value can only be attached: `-n5`, `--color=auto`. */
  optional?: Record<string, string>;
  /** Whether `-5` is an option too (any number of digits). */
  digits?: true;
  /** Absent: there may be none. */
  operands?: Operands;
  /** Other operands when one of these options is there, as grep has no pattern after `-e`: names by blanks → operands. */
  operandsWith?: Record<string, Operands>;
  /**
   * Whether options stand before all operands: for programs that take what comes behind an operand for another one, and
   * do something with it (`xxd F -e` writes to a file `-e`).
   */
  optionsFirst?: true;
  /** The first argument must be one of these options, or a bundle that begins with it. */
  first?: string;
  /** Of each of these, names by blanks, at least one option must be there. */
  require?: string[];
  /** What may be piped into it, whole commands: for programs that send what they read to a service. Absent: anything. */
  fedBy?: string[];
  /** The last argument must be this, and is not looked at further: the `]` of `[`. */
  last?: string;
  /**
   * Subcommands, names by blanks: the first operand is one of them, and what follows it is read with its arguments
   * and those here together (its own `style` is ignored). Then `operands` here is not used.
   */
  verbs?: Record<string, Arguments>;
  /** Whether a subcommand may be left out. */
  verbOptional?: true;
}

export interface Program extends Arguments {
  /** What it is for, in a few words. */
  about: string;
  /** Where it may be; the first that exists is run, by that path. */
  paths: string[];
  /** Options with which it goes on until the command's time is over, by blanks; it is ended before what reads from it. */
  follows?: string;
  /** What was left out on purpose, and why: for the person who reviews the table. */
  leftOut?: string;
  /**
   * Arguments that have a grammar of their own:
   * `find`: options `-H -L -P`, starting points (`path...`), then the expression, in which each argument is one of
   * `flags`, or one of `values` followed by its value.
   * `xargs`: options as getopt without permutation, then a command, checked by this same table, whose operands may end
   * with items that nobody has seen; see {@link Program.xargs}.
   */
  language?: 'find' | 'xargs';
  /**
   * Whether xargs may run it, on items that can be anything, also `-o`. `--`: its options stand before a `--`, so that
   * items are operands (check.ts puts it there, the gate insists on it). `plain`: it has no options that matter.
   * Its operands must end in one that takes any number. Absent: xargs may not run it.
   */
  xargs?: '--' | 'plain';
}

/** Where programs may be, and may be written by their path: of the system alone. */
const PROGRAM_FOLDERS = ['/usr/bin', '/usr/sbin', '/bin', '/sbin'];

/** The program of that name, or of that path in one of the standard folders. */
export function programOf(table: Table, written: string): Program | undefined {
  const slash = written.lastIndexOf('/');
  if (slash >= 0 && !PROGRAM_FOLDERS.includes(written.slice(0, slash))) return undefined;
  const name = written.slice(slash + 1);
  return Object.hasOwn(table.programs, name) ? table.programs[name] : undefined;
}
