import { isSteering, type ShellCommands, shellCommands, type Word } from './shell-commands.ts';

/** `unclear`: only running it would tell. */
export type Match = 'matches' | 'differs' | 'unclear';

/** What may be run: the commands of a line, null when those cannot be told, or `anything` that its caller likes later. */
export interface Runs {
  commands: ShellCommands | 'anything' | null;
  /** The user who is asked for; null: the one who logs in. */
  user: string | null;
}

type Glob = (word: string) => boolean;

interface CommandRequest {
  command?: string | undefined;
  argv?: readonly string[] | undefined;
  env?: Readonly<Record<string, string>> | undefined;
  user?: string | undefined;
}

/** Words of a pattern. */
const MAX_WORDS = 8;
/** Of lines within lines: `sh -c "sh -c …"`. */
const MAX_DEPTH = 4;
/** Of a program that runs what follows: each of them could be what it runs. */
const MAX_FOLLOWED = 64;

/** Run what follows, somewhere among their arguments. */
const LAUNCHERS = new Set(
  'sudo doas env nohup nice ionice timeout xargs setsid stdbuf command exec builtin chroot unshare nsenter runuser pkexec run0 setpriv busybox toybox strace ltrace flock find systemd-run time taskset chrt prlimit numactl setarch linux32 linux64 start-stop-daemon fakeroot faketime eatmydata proot bwrap firejail capsh sg dbus-run-session unbuffer rlwrap valgrind gdb perf ld.so'.split(
    ' ',
  ),
);
const SHELLS = new Set('sh bash dash zsh ksh mksh ash fish rbash csh tcsh'.split(' '));
/** Shells whose grammar is another than that of POSIX. */
const OTHER_SHELLS = new Set('zsh fish csh tcsh'.split(' '));
/** Run what they are given as text. */
const INTERPRETERS =
  /^(?:python[\d.]*|perl[\d.]*|ruby[\d.]*|node|nodejs|php[\d.]*|lua[\d.]*|tclsh[\d.]*|expect|deno|bun)$/;
/** What these run is not among their words, or is text of another kind. */
const UNTOLD = new Set(
  'eval source . su ssh watch parallel script at batch crontab alias trap hash enable bind compgen complete mapfile readarray awk gawk mawk nawk socat tmux screen'.split(
    ' ',
  ),
);
const DECLARES = new Set(['export', 'declare', 'typeset', 'readonly', 'local']);
/** Of a shell, which runs what stands in the index of an array that these name: `test -v 'a[$(nc)]'`. */
const NAMES_VARIABLES = new Set([...DECLARES, ...'test [ printf read unset let wait getopts'.split(' ')]);
const DYNAMIC_LINKER = /^ld-(?:linux|musl)/;

/** A login, a terminal or a desktop: it runs what every rule about commands names. */
export const RUNS_ANYTHING: Runs = { commands: 'anything', user: null };

/** Become another user. */
const ELEVATORS = ['sudo', 'doas', 'su', 'pkexec', 'runuser', 'run0', 'setpriv'];

/** Whether `text` is a pattern: 1 to 8 words, in which `*` stands for anything. */
export function isCommandPattern(text: string): boolean {
  return /^[!-~]+(?: [!-~]+)*$/.test(text) && text.split(' ').length <= MAX_WORDS;
}

/** What a request would run. */
export function runsOf({ command, argv, env = {}, user }: CommandRequest): Runs {
  const isSteered = Object.keys(env).some(isSteering);
  const commands = isSteered ? null : argv ? [argv] : shellCommands(command ?? '');
  return { commands, user: user ?? null };
}

/**
 * Whether a command is what a pattern names: its first word is the program's name, or its whole path when it has a `/`; each
 * further one is an argument, in this order, with any others between. Programs that run others are followed.
 */
export function matchCommand({ commands }: Pick<Runs, 'commands'>, pattern: string): Match {
  if (commands === 'anything') return 'matches';
  return matchAll(commands, pattern.split(' ').map(globOf), 0);
}

/** Whether it would run as another user than the one who logs in. */
export function matchElevation({ commands, user }: Runs): Match {
  if (user === 'root') return 'matches';
  return strongest(ELEVATORS.map((name) => matchCommand({ commands }, name)));
}

function matchAll(commands: ShellCommands | null, globs: readonly Glob[], depth: number): Match {
  if (commands === null || depth > MAX_DEPTH) return 'unclear';
  return strongest(commands.map((words) => matchOne(words, globs, depth)));
}

function matchOne([program, ...rest]: readonly Word[], globs: readonly Glob[], depth: number): Match {
  if (program === undefined) return 'differs';
  if (program === null) return 'unclear';
  const name = program.slice(program.lastIndexOf('/') + 1);
  const [wanted, ...further] = globs;
  const isNamed = wanted?.(program) || wanted?.(name);
  const own = isNamed ? matchArguments(rest, further, name === 'xargs') : 'differs';
  const within =
    LAUNCHERS.has(name) || DYNAMIC_LINKER.test(name)
      ? matchLaunched(name, rest, globs, depth)
      : matchGiven(name, rest, globs, depth);
  return strongest([own, within]);
}

/** Some of what follows is what it runs; so all of what follows, what runs others among it too, is looked at. */
function matchLaunched(name: string, rest: readonly Word[], globs: readonly Glob[], depth: number): Match {
  const isSteered = rest.some((word) => word === null || isSteering(word.split('=')[0] ?? ''));
  const isSplit = name === 'env' && rest.some((word) => word !== null && /^(?:-[^-]*S|--split-string)/.test(word));
  if (isSteered || isSplit || rest.length > MAX_FOLLOWED) return 'unclear';
  return strongest(
    rest.map((word, at) => {
      const program = word?.slice(word.lastIndexOf('/') + 1) ?? '';
      const after = rest.slice(at + 1);
      const isNamed = word !== null && (globs[0]?.(word) || globs[0]?.(program));
      const own = isNamed
        ? matchArguments(after, globs.slice(1), rest.includes('xargs') || name === 'xargs')
        : 'differs';
      return strongest([own, matchGiven(program, after, globs, depth)]);
    }),
  );
}

/** What a program is known to run that it is given as text. */
function matchGiven(name: string, rest: readonly Word[], globs: readonly Glob[], depth: number): Match {
  if (UNTOLD.has(name)) return 'unclear';
  if (SHELLS.has(name)) return matchShell(rest, globs, OTHER_SHELLS.has(name) ? MAX_DEPTH : depth);
  if (INTERPRETERS.test(name)) return isOfFile(rest) ? 'differs' : 'unclear';
  if (NAMES_VARIABLES.has(name) && rest.some((word) => word !== null && /\$\(|`/.test(word))) return 'unclear';
  if (!DECLARES.has(name)) return 'differs';
  return rest.some((word) => word === null || isSteering(word.split('=')[0] ?? '')) ? 'unclear' : 'differs';
}

/** A line that a shell is given with `-c`, or a file, which is a program like any other. */
function matchShell(rest: readonly Word[], globs: readonly Glob[], depth: number): Match {
  const option = rest.findIndex((word) => word !== null && /^-[a-z]*c$/.test(word));
  if (option < 0) return isOfFile(rest) ? 'differs' : 'unclear';
  const line = rest.slice(option + 1).find((word) => word === null || !/^[-+]/.test(word));
  return typeof line === 'string' ? matchAll(shellCommands(line), globs, depth + 1) : 'unclear';
}

/** Whether the first argument is a file, and no option. */
function isOfFile([first]: readonly Word[]): boolean {
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

/** `*` stands for anything; in time that grows with the word and no faster. */
function globOf(pattern: string): Glob {
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
