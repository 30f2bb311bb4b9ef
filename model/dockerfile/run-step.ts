import { LIMITS } from '../limits.ts';
import { utf8Length } from '../utf8.ts';
import { type Heredoc, heredocText } from './heredocs.ts';
import type { Instruction } from './instructions.ts';
import { resolvePath } from './patterns/paths.ts';
import type { CacheMount, Ignore, RunStep, SecretMount, Settings } from './plan.ts';
import { unsupportedAt } from './refusal.ts';
import { expandWord, type Variables } from './words.ts';

/** Standard input is a program of its own (`#!`): it is written down, run and removed. */
const AS_PROGRAM = 'f=$(mktemp) && cat >"$f" && chmod 755 "$f" && { "$f" </dev/null; s=$?; rm -f "$f"; exit $s; }';

/** Builds the step of a RUN with its variables. @throws MayflyError dockerfile_unsupported */
export function buildRunStep(instruction: Instruction, settings: Settings, args: Variables, ignore: Ignore): RunStep {
  const { line, text } = instruction;
  const env = { ...args, ...settings.env };
  const program = programOf(instruction, settings.shell);
  refuseTooLong([...program.argv, ...Object.values(env)], line);
  return {
    kind: 'run',
    line,
    text: `RUN ${text}`,
    ...program,
    env,
    cwd: settings.workdir,
    user: settings.user,
    ...mountsOf(instruction, env, ignore),
  };
}

/** @throws MayflyError dockerfile_unsupported for arguments that Linux cannot pass to a program */
export function refuseTooLong(argv: readonly string[], line: number): void {
  const { maxLength } = LIMITS.command;
  if (argv.some((word) => word.includes('\0'))) throw unsupportedAt(line, 'a NUL ends an argument');
  if (argv.every((word) => word.length * 3 <= maxLength || utf8Length(word) <= maxLength)) return;
  throw unsupportedAt(line, `an argument has at most ${maxLength} bytes in Linux: COPY what is longer as a file`);
}

function programOf({ json, text, heredocs }: Instruction, shell: readonly string[]): Pick<RunStep, 'argv' | 'stdin'> {
  if (json !== null) return { argv: json, stdin: '' };
  const [first] = heredocs;
  if (first && heredocs.length === 1 && text.trim() === first.word) {
    const script = heredocText(first);
    if (script.startsWith('#!')) return { argv: ['/bin/sh', '-c', AS_PROGRAM], stdin: script };
    return { argv: [...shell, script], stdin: '' };
  }
  return { argv: [...shell, [text, ...heredocs.map(formatHeredoc)].join('\n')], stdin: '' };
}

function formatHeredoc({ name, content }: Heredoc): string {
  return `${content}${name}`;
}

function mountsOf(instruction: Instruction, variables: Variables, ignore: Ignore): Pick<RunStep, 'secrets' | 'caches'> {
  const { flags, line } = instruction;
  const secrets: SecretMount[] = [];
  const caches: CacheMount[] = [];
  for (const { name, value } of flags) {
    if (name === 'network' && value === 'default') continue;
    if (name !== 'mount')
      throw unsupportedAt(line, `RUN --${name}${value === null ? '' : `=${value}`} is not done here`);
    const mount = expandWord(value ?? '', variables, instruction);
    const options = new Map(mount.split(',').map((each) => splitOption(each)));
    const type = options.get('type') ?? 'bind';
    if (type === 'secret') secrets.push(parseSecretMount(options, line));
    else if (type === 'cache') {
      caches.push(parseCacheMount(options, line));
      ignore({ line, text: 'RUN --mount=type=cache: an empty folder, whose content is kept nowhere' });
    } else throw unsupportedAt(line, `RUN --mount=type=${type} is not done here; type=secret and type=cache are`);
  }
  return { secrets, ...(caches.length > 0 && { caches }) };
}

type Options = ReadonlyMap<string, string>;
const OF_BOTH = ['type', 'id', 'target', 'dst', 'destination', 'mode', 'uid', 'gid'];

function parseSecretMount(options: Options, line: number): SecretMount {
  refuseUnknown(options, ['required'], line);
  const wanted = targetOf(options);
  const id = options.get('id') ?? wanted?.split('/').at(-1) ?? '';
  if (!/^[A-Za-z0-9._-]{1,128}$/.test(id)) throw unsupportedAt(line, 'a secret needs an `id` of A-Za-z0-9._-');
  const required = options.get('required') ?? 'false';
  const isRequired = required === 'true' || required === '';
  const target = resolvePath(wanted ?? id, '/run/secrets');
  return { id, target, ...permissionsOf(options, '0400', line), isRequired };
}

function parseCacheMount(options: Options, line: number): CacheMount {
  refuseUnknown(options, ['sharing', 'ro', 'readonly', 'rw', 'readwrite'], line);
  const target = targetOf(options);
  if (target === undefined || target === '') throw unsupportedAt(line, 'a cache needs a `target`');
  const path = resolvePath(target, '/').replace(/(?<=.)\/$/, '');
  if (path === '/') throw unsupportedAt(line, 'the `target` of a cache is no root');
  return { target: path, ...permissionsOf(options, '0755', line) };
}

function refuseUnknown(options: Options, known: readonly string[], line: number): void {
  const unknown = [...options.keys()].find((key) => !OF_BOTH.includes(key) && !known.includes(key));
  if (unknown !== undefined) throw unsupportedAt(line, `the option ${unknown} of --mount is not done here`);
}

function targetOf(options: Options): string | undefined {
  return options.get('target') ?? options.get('dst') ?? options.get('destination');
}

function permissionsOf(options: Options, otherwise: string, line: number): Pick<CacheMount, 'mode' | 'owner'> {
  const { mode = otherwise, uid = '0', gid = '0' } = Object.fromEntries(options);
  if (!/^[0-7]{1,4}$/.test(mode) || !/^\d{1,10}$/.test(uid) || !/^\d{1,10}$/.test(gid)) {
    throw unsupportedAt(line, 'mode of a mount is octal, uid and gid are numbers');
  }
  return { mode, owner: `${uid}:${gid}` };
}

function splitOption(option: string): [string, string] {
  const at = option.indexOf('=');
  return at < 0 ? [option.trim(), ''] : [option.slice(0, at).trim(), option.slice(at + 1)];
}
