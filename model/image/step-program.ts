import type { Placed } from '../dockerfile/context.ts';
import { isPattern } from '../dockerfile/glob.ts';
import type { CopyStep, Settings, Step } from '../dockerfile/plan.ts';
import { type GivenSecret, runProgram } from './run-program.ts';
import { UNIT, unitOf } from './unit.ts';

/** What a step has the guest run. */
export interface StepProgram {
  argv: string[];
  stdin: string;
  /** Of the context: they are its standard input, one as it is, several as an archive with what stands in the Dockerfile. */
  files: readonly Placed[];
  inline: CopyStep['inline'];
  /** Of all files, octal; null: their own. */
  mode: string | null;
  env: Record<string, string>;
  cwd: string;
  user: string;
  /** Ids of those that standard input begins with. */
  secrets: readonly string[];
}

const PLAIN = { files: [], inline: [], mode: null, secrets: [] };
/** Of what steps do besides what they run. */
export const AS_ROOT = { ...PLAIN, env: {}, cwd: '/', user: 'root' };

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

/** Standard input is the profile, as long as it is said, and then the unit. */
const FINISH = `set -e
umask 022
mkdir -p /etc/profile.d
head -c "$1" >${PROFILE}
unit=/etc/systemd/system/${UNIT}
wanted=/etc/systemd/system/multi-user.target.wants
if [ "$2" != as-it-is ]; then rm -f "$wanted/${UNIT}" "$unit"; fi
if [ "$2" = ours ]; then
  mkdir -p "$wanted"
  cat >"$unit"
  ln -s "../${UNIT}" "$wanted/${UNIT}"
fi`;

/**
 * Standard input is an archive. What is in the way of a folder stays, also a link to one; whose all of it is, is known in the
 * guest alone.
 */
const UNPACK = `set -e
umask 022
mkdir -p -- "$1"
stage=$(mktemp -d /var/tmp/mayfly-image-copy.XXXXXX)
trap 'rm -rf -- "$stage"' EXIT
chmod 0755 "$stage"
tar -x -p -m -f - -C "$stage" --no-same-owner
chown -hR -- "$2" "$stage"
tar -c -f - -C "$stage" . | tar -x -p -f - -C "$1" --same-owner --no-overwrite-dir --keep-directory-symlink`;

/** @param placed of the context, by a COPY @param secrets that a RUN is given */
export function programOf(step: Step, placed: readonly Placed[], secrets: readonly GivenSecret[]): StepProgram {
  switch (step.kind) {
    case 'run': {
      const { stdin, env, cwd } = step;
      const argv = runProgram(step, secrets);
      return { ...PLAIN, argv, stdin, env, cwd, user: 'root', secrets: secrets.map(({ id }) => id) };
    }
    case 'workdir':
      return { ...AS_ROOT, argv: ['/bin/mkdir', '-p', '--', step.path], stdin: '' };
    case 'copy':
      return placed.length === 0 ? writing(step) : copying(step, placed);
  }
}

/** The last step of each build: what ENV says is there for whoever logs in, and what is to run is run at each boot. */
export function finishing(settings: Settings, plain: Settings['env']): StepProgram {
  const own = Object.entries(settings.env).filter(([name, value]) => plain[name] !== value);
  const lines = own.map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`);
  const profile = lines.join('');
  const unit = unitOf(settings);
  const length = String(new TextEncoder().encode(profile).length);
  const argv = ['/bin/sh', '-c', FINISH, 'sh', length, unit === null ? 'as-it-is' : unit === '' ? 'none' : 'ours'];
  return { ...AS_ROOT, argv, stdin: profile + (unit ?? '') };
}

function writing({ inline, target, mode, owner }: CopyStep): StepProgram {
  const files = inline.flatMap(({ name, content }) => [name, String(new TextEncoder().encode(content).length)]);
  const argv = ['/bin/sh', '-c', WRITE_FILES, 'sh', target, mode ?? '644', ownerOf(owner), ...files];
  return { ...AS_ROOT, argv, stdin: inline.map(({ content }) => content).join('') };
}

function copying({ inline, target, mode, owner, sources }: CopyStep, files: readonly Placed[]): StepProgram {
  const [first] = files;
  if (first?.as === '') {
    const { entry } = first;
    const own = sources[0]?.split('/').at(-1) ?? '';
    const name = isPattern(own) || own === '' ? (entry.path.split('/').at(-1) ?? '') : own;
    const args = [target, mode ?? entry.mode.toString(8), ownerOf(owner), name, String(entry.size)];
    return { ...AS_ROOT, argv: ['/bin/sh', '-c', WRITE_FILES, 'sh', ...args], stdin: '', files };
  }
  const argv = ['/bin/sh', '-c', UNPACK, 'sh', target, ownerOf(owner)];
  return { ...AS_ROOT, argv, stdin: '', files, inline, mode };
}

/** Without a group it is the user's own; of a number, the same. */
export function ownerOf(owner: string | null): string {
  if (owner === null) return '0:0';
  if (owner.includes(':')) return owner;
  return /^\d+$/.test(owner) ? `${owner}:${owner}` : `${owner}:`;
}
