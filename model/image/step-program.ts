import type { CopyStep, Settings, Step } from '../dockerfile/plan.ts';

/** What a step has the guest run. */
export interface StepProgram {
  argv: string[];
  stdin: string;
  env: Record<string, string>;
  cwd: string;
  user: string;
}

const AS_ROOT = { env: {}, cwd: '/', user: 'root' };

/** Standard input has the files one after the other; of each its name and length are arguments. */
const WRITE_FILES = `set -e
umask 022
target=$1 mode=$2 owner=$3
shift 3
while [ $# -gt 0 ]; do
  case $target in
    */) mkdir -p -- "$target"; file=$target$1 ;;
    *) if [ -d "$target" ]; then file=$target/$1; else mkdir -p -- "\${target%/*}/"; file=$target; fi ;;
  esac
  head -c "$2" >"$file"
  chmod -- "$mode" "$file"
  chown -- "$owner" "$file"
  shift 2
done`;

/** Where login shells look for what ENV has set. */
const PROFILE = '/etc/profile.d/mayfly-image.sh';

export function programOf(step: Step): StepProgram {
  switch (step.kind) {
    case 'run': {
      const { argv, stdin, env, cwd, user } = step;
      return { argv, stdin, env, cwd, user };
    }
    case 'workdir':
      return { ...AS_ROOT, argv: ['/bin/mkdir', '-p', '--', step.path], stdin: '' };
    case 'copy':
      return writing(step);
  }
}

/** The last step of each build: what ENV says is there for whoever logs in. */
export function finishing({ env }: Settings, plain: Settings['env']): StepProgram {
  const own = Object.entries(env).filter(([name, value]) => plain[name] !== value);
  const lines = own.map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`);
  const argv = ['/bin/sh', '-c', `umask 022; mkdir -p /etc/profile.d && cat >${PROFILE}`];
  return { ...AS_ROOT, argv, stdin: lines.join('') };
}

function writing({ inline, target, mode, owner }: CopyStep): StepProgram {
  const files = inline.flatMap(({ name, content }) => [name, String(new TextEncoder().encode(content).length)]);
  const argv = ['/bin/sh', '-c', WRITE_FILES, 'sh', target, mode ?? '644', ownerOf(owner), ...files];
  return { ...AS_ROOT, argv, stdin: inline.map(({ content }) => content).join('') };
}

/** Without a group it is the user's own; of a number, the same. */
function ownerOf(owner: string | null): string {
  if (owner === null) return '0:0';
  if (owner.includes(':')) return owner;
  return /^\d+$/.test(owner) ? `${owner}:${owner}` : `${owner}:`;
}
