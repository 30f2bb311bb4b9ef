import type { CopiedEntry } from '../dockerfile/context.ts';
import { isPattern } from '../dockerfile/patterns/glob.ts';
import type { CopyStep, Settings, Step, WorkdirStep } from '../dockerfile/plan.ts';
import { utf8Length } from '../utf8.ts';
import { generateReadyScript, READY_FILE, type ReadyCheck } from './ready.ts';
import { buildRunProgram, type MountedSecret } from './run-program.ts';
import { generateUnit, UNIT } from './unit.ts';

/** Guest program of a step. */
export interface StepProgram {
  argv: string[];
  stdin: string;
  /** Files of the context for standard input: a single one raw, several as an archive with the heredoc files. */
  files: readonly CopiedEntry[];
  inline: CopyStep['inline'];
  /** Mode of all files, octal; null: unchanged. */
  mode: string | null;
  env: Record<string, string>;
  cwd: string;
  user: string;
  /** Ids of the secrets at the start of standard input. */
  secrets: readonly string[];
  /** True for a program of the host that is uploaded like the files. `@default` false */
  isBrought?: boolean;
}

/**
 * True when the program or its files are uploaded before the step.
 * @param isStoredSeparately its context is stored separately
 */
export function needsUpload({ files, isBrought = false }: StepProgram, isStoredSeparately: boolean): boolean {
  return isBrought || (isStoredSeparately && files.length > 0);
}

const PLAIN = { files: [], inline: [], mode: null, secrets: [] };
/** Environment of steps other than RUN. */
export const AS_ROOT = { ...PLAIN, env: {}, cwd: '/', user: 'root' };

/** `folder` creates missing folders of a path with the owner `$owner`, like the files copied there. */
export const FOLDER = `folder() {
  set -- "\${1%/}"
  if [ "$1" = "" ] || [ -d "$1" ]; then return 0; fi
  folder "\${1%/*}"
  mkdir -- "$1"
  chown -- "$owner" "$1"
}`;

const MAKE_FOLDER = `set -e
umask 022
owner=$2
case $owner in
  *:*) ;;
  *)
    group=$(getent passwd "$owner" | cut -d : -f 4)
    owner=$owner:\${group:-$owner}
    ;;
esac
${FOLDER}
folder "$1"`;

/**
 * Writes the files from standard input in turn; arguments give each name and length. An empty folder has none. Sets the
 * owner first, since chown(1) clears mode bits.
 */
const WRITE_FILES = `set -e
umask 022
target=$1 mode=$2 owner=$3
${FOLDER}
shift 3
[ $# -gt 0 ] || folder "$target"
while [ $# -gt 0 ]; do
  case $target in
    */) folder "$target"; file=$target$1 ;;
    *) if [ -d "$target" ]; then file=$target/$1; else folder "\${target%/*}/"; file=$target; fi ;;
  esac
  head -c "$2" >"$file"
  chown -- "$owner" "$file"
  chmod -- "$mode" "$file"
  shift 2
done`;

/** Path of the uploaded program (go/root) that turns a root file system into a machine. */
export const ROOT_PROGRAM = '/var/tmp/mayfly-image-root';

/** Profile script that sets ENV for login shells. */
const PROFILE = '/etc/profile.d/mayfly-image.sh';

const READY_FOLDER = READY_FILE.slice(0, READY_FILE.lastIndexOf('/'));

/** Reads the profile and the check by their lengths, then the unit, from standard input. */
const FINISH = `set -e
umask 022
mkdir -p /etc/profile.d
head -c "$1" >${PROFILE}
rm -f ${READY_FILE}
if [ "$3" != 0 ]; then
  mkdir -p ${READY_FOLDER}
  head -c "$3" >${READY_FILE}
  chmod 755 ${READY_FILE}
fi
unit=/etc/systemd/system/${UNIT}
wanted=/etc/systemd/system/multi-user.target.wants
if [ "$2" != as-it-is ]; then rm -f "$wanted/${UNIT}" "$unit"; fi
if [ "$2" = ours ]; then
  mkdir -p "$wanted"
  cat >"$unit"
  ln -s "../${UNIT}" "$wanted/${UNIT}"
fi`;

/**
 * `merge` copies a folder's content into another: existing folders take mode and owner of the copied ones, except the
 * target itself and symbolic links. A given owner, resolved in the guest, is written into the archive, since chown(1)
 * clears mode bits.
 */
export const MERGE = `merge() {
  owned=
  if [ "$owner" != "" ]; then
    : >"$1.owner"
    chown -- "$owner" "$1.owner"
    owned=$(stat -c '--owner=:%u --group=:%g' "$1.owner")
    rm -f -- "$1.owner"
  fi
  find "$1" -mindepth 1 -maxdepth 1 -printf '%P\\0' |
    tar -c --xattrs --xattrs-include='security.capability' --numeric-owner $owned -f - -C "$1" --null --verbatim-files-from -T - |
    tar -x -p --xattrs --xattrs-include='security.capability' --numeric-owner --same-owner -f - -C "$2" --keep-directory-symlink
}`;

/** Unpacks an archive from standard input. */
const UNPACK = `set -e
umask 022
owner=$2
${FOLDER}
${MERGE}
folder "$1"
stage=$(mktemp -d /var/tmp/mayfly-image-copy.XXXXXX)
trap 'rm -rf -- "$stage"' EXIT
mkdir "$stage/tree"
tar -x -p -m -f - -C "$stage/tree" --no-same-owner
merge "$stage/tree" "$1"`;

/**
 * Builds the program of a step.
 * @param placed context entries of a COPY
 * @param secrets of a RUN
 */
export function buildStepProgram(
  step: Step,
  placed: readonly CopiedEntry[],
  secrets: readonly MountedSecret[],
): StepProgram {
  switch (step.kind) {
    case 'run': {
      const { stdin, env, cwd } = step;
      const argv = buildRunProgram(step, secrets);
      return { ...PLAIN, argv, stdin, env, cwd, user: 'root', secrets: secrets.map(({ id }) => id) };
    }
    case 'workdir':
      return { ...AS_ROOT, argv: makeFolderArgv(step), stdin: '' };
    case 'root': {
      const files = step.layers.map(({ entry }, n) => ({ as: `${n}`, entry }));
      const argv = [ROOT_PROGRAM, ...step.layers.map(({ diffId }) => diffId ?? '-')];
      return { ...AS_ROOT, argv, stdin: '', files, isBrought: true };
    }
    case 'copy':
      return placed.length === 0 ? writeFilesProgram(step) : copyProgram(step, placed);
  }
}

/** Builds the last step of each build: sets ENV for logins, and starts CMD and ENTRYPOINT at each boot. */
export function buildFinalProgram(settings: Settings, plain: Settings['env'], ready: ReadyCheck | null): StepProgram {
  const own = Object.entries(settings.env).filter(([name, value]) => plain[name] !== value);
  const lines = own.map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`);
  const profile = lines.join('');
  const unit = generateUnit(settings);
  const check = ready === null ? '' : generateReadyScript(ready, PROFILE);
  const kind = unit === null ? 'as-it-is' : unit === '' ? 'none' : 'ours';
  const argv = ['/bin/sh', '-c', FINISH, 'sh', lengthOf(profile), kind, lengthOf(check)];
  return { ...AS_ROOT, argv, stdin: profile + check + (unit ?? '') };
}

function lengthOf(text: string): string {
  return String(utf8Length(text));
}

function makeFolderArgv({ path, user }: WorkdirStep): string[] {
  return user === 'root' ? ['/bin/mkdir', '-p', '--', path] : ['/bin/sh', '-c', MAKE_FOLDER, 'sh', path, user];
}

function writeFilesProgram({ inline, target, mode, owner }: CopyStep): StepProgram {
  const files = inline.flatMap(({ name, content }) => [name, lengthOf(content)]);
  const argv = ['/bin/sh', '-c', WRITE_FILES, 'sh', target, mode ?? '644', completeOwner(owner), ...files];
  return { ...AS_ROOT, argv, stdin: inline.map(({ content }) => content).join('') };
}

function copyProgram({ inline, target, mode, owner, sources }: CopyStep, files: readonly CopiedEntry[]): StepProgram {
  const [first] = files;
  if (first?.as === '') {
    const { entry } = first;
    const own = sources[0]?.split('/').at(-1) ?? '';
    const name = isPattern(own) || own === '' ? (entry.path.split('/').at(-1) ?? '') : own;
    const args = [target, mode ?? entry.mode.toString(8), completeOwner(owner), name, String(entry.size)];
    return { ...AS_ROOT, argv: ['/bin/sh', '-c', WRITE_FILES, 'sh', ...args], stdin: '', files };
  }
  const argv = ['/bin/sh', '-c', UNPACK, 'sh', target, completeOwner(owner)];
  return { ...AS_ROOT, argv, stdin: '', files, inline, mode };
}

/** Completes an owner without a group: the user's own group; for a number, the same number. */
export function completeOwner(owner: string | null): string {
  if (owner === null) return '0:0';
  if (owner.includes(':')) return owner;
  return /^\d+$/.test(owner) ? `${owner}:${owner}` : `${owner}:`;
}
