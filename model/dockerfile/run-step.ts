import { type Heredoc, textOf } from './heredocs.ts';
import type { Instruction } from './instructions.ts';
import { absolute } from './patterns/paths.ts';
import type { RunStep, SecretMount, Settings } from './plan.ts';
import { refusedAt } from './refusal.ts';
import { expanded, type Variables } from './words.ts';

/** Standard input is a program of its own (`#!`): it is written down, run and removed. */
const AS_PROGRAM = 'f=$(mktemp) && cat >"$f" && chmod 755 "$f" && { "$f" </dev/null; s=$?; rm -f "$f"; exit $s; }';

/** What a RUN runs, with the variables that it is given. @throws MayflyError dockerfile_unsupported */
export function runStep(instruction: Instruction, settings: Settings, args: Variables): RunStep {
  const { line, text } = instruction;
  const env = { ...args, ...settings.env };
  return {
    kind: 'run',
    line,
    text: `RUN ${text}`,
    ...programOf(instruction, settings.shell),
    env,
    cwd: settings.workdir,
    user: settings.user,
    secrets: secretsOf(instruction, env),
  };
}

function programOf({ json, text, heredocs }: Instruction, shell: readonly string[]): Pick<RunStep, 'argv' | 'stdin'> {
  if (json !== null) return { argv: json, stdin: '' };
  const [first] = heredocs;
  if (first && heredocs.length === 1 && text.trim() === first.word) {
    const script = textOf(first);
    if (script.startsWith('#!')) return { argv: ['/bin/sh', '-c', AS_PROGRAM], stdin: script };
    return { argv: [...shell, script], stdin: '' };
  }
  return { argv: [...shell, [text, ...heredocs.map(asWritten)].join('\n')], stdin: '' };
}

function asWritten({ name, content }: Heredoc): string {
  return `${content}${name}`;
}

function secretsOf({ flags, line, ...reading }: Instruction, variables: Variables): SecretMount[] {
  const secrets: SecretMount[] = [];
  for (const { name, value } of flags) {
    if (name === 'network' && value === 'default') continue;
    if (name !== 'mount') throw refusedAt(line, `RUN --${name}${value === null ? '' : `=${value}`} is not done here`);
    secrets.push(secretOf(expanded(value ?? '', variables, { line, escaper: reading.escaper }), line));
  }
  return secrets;
}

function secretOf(mount: string, line: number): SecretMount {
  const options = new Map(mount.split(',').map((each) => splitOption(each)));
  const type = options.get('type') ?? 'bind';
  if (type !== 'secret') throw refusedAt(line, `RUN --mount=type=${type} is not done here; type=secret is`);
  const unknown = [...options.keys()].find(
    (key) => !['type', 'id', 'target', 'dst', 'destination', 'required', 'mode', 'uid', 'gid'].includes(key),
  );
  if (unknown !== undefined) throw refusedAt(line, `the option ${unknown} of --mount is not done here`);
  const wanted = options.get('target') ?? options.get('dst') ?? options.get('destination');
  const id = options.get('id') ?? wanted?.split('/').at(-1) ?? '';
  if (!/^[A-Za-z0-9._-]{1,128}$/.test(id)) throw refusedAt(line, 'a secret needs an `id` of A-Za-z0-9._-');
  const required = options.get('required') ?? 'false';
  const { mode = '0400', uid = '0', gid = '0' } = Object.fromEntries(options);
  if (!/^[0-7]{1,4}$/.test(mode) || !/^\d{1,10}$/.test(uid) || !/^\d{1,10}$/.test(gid)) {
    throw refusedAt(line, 'mode of a secret is octal, uid and gid are numbers');
  }
  const isRequired = required === 'true' || required === '';
  return { id, target: absolute(wanted ?? id, '/run/secrets'), mode, owner: `${uid}:${gid}`, isRequired };
}

function splitOption(option: string): [string, string] {
  const at = option.indexOf('=');
  return at < 0 ? [option.trim(), ''] : [option.slice(0, at).trim(), option.slice(at + 1)];
}
