import { isSteering, parseShellCommands, type ShellCommands, type Word } from './shell-commands.ts';

/** Result of a match; `unclear`: only a run of the command could decide. */
export type Match = 'matches' | 'differs' | 'unclear';

/** Commands of a request; null: they cannot be determined. `anything`: the caller chooses them later. */
export interface RequestedCommands {
  commands: ShellCommands | 'anything' | null;
  /** Requested user; null: the login user. */
  user: string | null;
}

type Glob = (word: string) => boolean;

interface CommandRequest {
  command?: string | undefined;
  argv?: readonly string[] | undefined;
  env?: Readonly<Record<string, string>> | undefined;
  user?: string | undefined;
}

/** Maximum words of a pattern. */
const MAX_WORDS = 8;
/** Nesting of lines within lines: `sh -c "sh -c …"`. */
const MAX_DEPTH = 4;
/** Arguments of one launcher that are examined: each could be the program it runs. */
const MAX_LAUNCHER_ARGS = 64;
/** Arguments of all launchers of a line. */
const MAX_FOLLOWED_IN_ALL = 2_048;

/** State of matching one pattern with one request. */
interface Matching {
  globs: readonly Glob[];
  /** Results for nested lines by depth and text: many words can contain the same line. */
  matched: Map<string, Match>;
  /** Launcher arguments that may still be examined. */
  left: number;
  lines: Map<string, ShellCommands | null>;
}

/** Parsed nested lines of a request, shared by all patterns. */
const linesWithin = new WeakMap<ShellCommands, Map<string, ShellCommands | null>>();

/** Programs that run a command given among their arguments. */
const LAUNCHERS = new Set(
  'sudo doas env nohup nice ionice timeout xargs setsid stdbuf command exec builtin chroot unshare nsenter runuser pkexec run0 setpriv busybox toybox strace ltrace flock find systemd-run time taskset chrt prlimit numactl setarch linux32 linux64 start-stop-daemon fakeroot faketime eatmydata proot bwrap firejail capsh sg dbus-run-session unbuffer rlwrap valgrind gdb perf ld.so'.split(
    ' ',
  ),
);
const SHELLS = new Set('sh bash dash zsh ksh mksh ash fish rbash csh tcsh'.split(' '));
/** Shells whose grammar differs from POSIX. */
const OTHER_SHELLS = new Set('zsh fish csh tcsh'.split(' '));
/** Programs that run code given as text. */
const INTERPRETERS =
  /^(?:python[\d.]*|perl[\d.]*|ruby[\d.]*|node|nodejs|php[\d.]*|lua[\d.]*|tclsh[\d.]*|expect|deno|bun)$/;
/** Programs that run commands not found among their words, or text in another language. */
const OPAQUE = new Set(
  'eval source . su ssh watch parallel script at batch crontab alias trap hash enable bind compgen complete mapfile readarray awk gawk mawk nawk socat tmux screen'.split(
    ' ',
  ),
);
const DECLARES = new Set(['export', 'declare', 'typeset', 'readonly', 'local']);
/** Shell builtins that evaluate the array index of a variable name: `test -v 'a[$(nc)]'`. */
const NAMES_VARIABLES = new Set([...DECLARES, ...'test [ printf read unset let wait getopts'.split(' ')]);
const DYNAMIC_LINKER = /^ld-(?:linux|musl)/;

/** Commands of a login, a terminal or a desktop: matches every rule about commands. */
export const ANY_COMMAND: RequestedCommands = { commands: 'anything', user: null };

/** Programs that switch to another user. */
const ELEVATORS = ['sudo', 'doas', 'su', 'pkexec', 'runuser', 'run0', 'setpriv'];

/** True when `text` is a pattern: 1 to 8 words, in which `*` matches any characters. */
export function isCommandPattern(text: string): boolean {
  return /^[!-~]+(?: [!-~]+)*$/.test(text) && text.split(' ').length <= MAX_WORDS;
}

/** Determines the commands and the user of a request. */
export function getRequestedCommands({ command, argv, env = {}, user }: CommandRequest): RequestedCommands {
  const isSteered = Object.keys(env).some(isSteering);
  const commands = isSteered ? null : argv ? [argv] : parseShellCommands(command ?? '');
  return { commands, user: user ?? null };
}

/**
 * Matches commands with a pattern: its first word is a program's name, or its full path when it contains `/`; each
 * further word is an argument, in this order, with any others between. Follows programs that run others.
 */
export function matchCommand({ commands }: Pick<RequestedCommands, 'commands'>, pattern: string): Match {
  if (commands === 'anything') return 'matches';
  if (commands === null) return 'unclear';
  const lines = linesWithin.get(commands) ?? new Map<string, ShellCommands | null>();
  linesWithin.set(commands, lines);
  const globs = pattern.split(' ').map(compileGlob);
  return matchAll(commands, { globs, matched: new Map(), left: MAX_FOLLOWED_IN_ALL, lines }, 0);
}

/** Matches a request that would run as another user than the login user. */
export function matchElevation({ commands, user }: RequestedCommands): Match {
  if (user === 'root') return 'matches';
  return strongest(ELEVATORS.map((name) => matchCommand({ commands }, name)));
}

function matchAll(commands: ShellCommands | null, matching: Matching, depth: number): Match {
  if (commands === null || depth > MAX_DEPTH) return 'unclear';
  return strongest(commands.map((words) => matchOne(words, matching, depth)));
}

/** Matches a line given to a shell. */
function matchLine(line: string, matching: Matching, depth: number): Match {
  const key = `${depth} ${line}`;
  const known = matching.matched.get(key);
  if (known !== undefined) return known;
  const commands = matching.lines.has(line) ? (matching.lines.get(line) ?? null) : parseShellCommands(line);
  matching.lines.set(line, commands);
  const match = matchAll(commands, matching, depth);
  matching.matched.set(key, match);
  return match;
}

function matchOne([program, ...rest]: readonly Word[], matching: Matching, depth: number): Match {
  if (program === undefined) return 'differs';
  if (program === null) return 'unclear';
  const name = program.slice(program.lastIndexOf('/') + 1);
  const [wanted, ...further] = matching.globs;
  const isNamed = wanted?.(program) || wanted?.(name);
  const own = isNamed ? matchArguments(rest, further, name === 'xargs') : 'differs';
  const within =
    LAUNCHERS.has(name) || DYNAMIC_LINKER.test(name)
      ? matchLaunched(name, rest, matching, depth)
      : matchProgramText(name, rest, matching, depth);
  return strongest([own, within]);
}

/** Matches each argument as the program that a launcher could run, including nested launchers. */
function matchLaunched(name: string, rest: readonly Word[], matching: Matching, depth: number): Match {
  const { globs } = matching;
  const isSteered = rest.some((word) => word === null || isSteering(word.split('=')[0] ?? ''));
  const isSplit = name === 'env' && rest.some((word) => word !== null && /^(?:-[^-]*S|--split-string)/.test(word));
  matching.left -= rest.length;
  if (isSteered || isSplit || rest.length > MAX_LAUNCHER_ARGS || matching.left < 0) return 'unclear';
  return strongest(
    rest.map((word, at) => {
      const program = word?.slice(word.lastIndexOf('/') + 1) ?? '';
      const after = rest.slice(at + 1);
      const isNamed = word !== null && (globs[0]?.(word) || globs[0]?.(program));
      const own = isNamed
        ? matchArguments(after, globs.slice(1), rest.includes('xargs') || name === 'xargs')
        : 'differs';
      return strongest([own, matchProgramText(program, after, matching, depth)]);
    }),
  );
}

/** Matches the code that a shell, an interpreter or a builtin gets as text. */
function matchProgramText(name: string, rest: readonly Word[], matching: Matching, depth: number): Match {
  if (OPAQUE.has(name)) return 'unclear';
  if (SHELLS.has(name)) return matchShell(rest, matching, OTHER_SHELLS.has(name) ? MAX_DEPTH : depth);
  if (INTERPRETERS.test(name)) return isFileArgument(rest) ? 'differs' : 'unclear';
  if (NAMES_VARIABLES.has(name) && rest.some((word) => word !== null && /\$\(|`/.test(word))) return 'unclear';
  if (!DECLARES.has(name)) return 'differs';
  return rest.some((word) => word === null || isSteering(word.split('=')[0] ?? '')) ? 'unclear' : 'differs';
}

/** Matches a line given to a shell with `-c`; a script file counts as any other program. */
function matchShell(rest: readonly Word[], matching: Matching, depth: number): Match {
  const option = rest.findIndex((word) => word !== null && /^-[a-z]*c$/.test(word));
  if (option < 0) return isFileArgument(rest) ? 'differs' : 'unclear';
  const line = rest.slice(option + 1).find((word) => word === null || !/^[-+]/.test(word));
  return typeof line === 'string' ? matchLine(line, matching, depth + 1) : 'unclear';
}

/** True when the first argument is a file, not an option. */
function isFileArgument([first]: readonly Word[]): boolean {
  return (
    typeof first === 'string' && !first.startsWith('-') && !first.startsWith('/dev/') && !first.startsWith('/proc/')
  );
}

function matchArguments(words: readonly Word[], globs: readonly Glob[], isOpen: boolean): Match {
  const [glob, ...further] = globs;
  if (!glob) return 'matches';
  const at = words.findIndex((word) => word !== null && glob(word));
  const unknown = words.indexOf(null);
  if (at >= 0) {
    const found = matchArguments(words.slice(at + 1), further, isOpen);
    if (found === 'matches' || unknown < 0 || unknown > at) return found;
  }
  return unknown >= 0 || isOpen ? 'unclear' : 'differs';
}

function strongest(matches: readonly Match[]): Match {
  if (matches.includes('matches')) return 'matches';
  return matches.includes('unclear') ? 'unclear' : 'differs';
}

/** Compiles a word in which `*` matches any characters; matching takes linear time. */
function compileGlob(pattern: string): Glob {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return (word) => word === first;
  return (word) => {
    if (word.length < first.length + last.length || !word.startsWith(first) || !word.endsWith(last)) return false;
    let from = first.length;
    for (const part of parts) {
      const at = word.indexOf(part, from);
      if (at < 0) return false;
      from = at + part.length;
    }
    return from <= word.length - last.length;
  };
}
