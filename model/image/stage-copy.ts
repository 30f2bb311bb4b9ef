import { isPattern } from '../dockerfile/patterns/glob.ts';
import { normalizePath } from '../dockerfile/patterns/paths.ts';
import type { CopyStep } from '../dockerfile/plan.ts';
import { AS_ROOT, completeOwner, FOLDER, MERGE, type StepProgram } from './step-program.ts';

/** Archive for the files of a COPY between two guests; in no layer, since the step removes it. */
export const TRANSFER_ARCHIVE = '/var/tmp/mayfly-image-copy.tar';

/**
 * Packs the matches of each path, given with its pattern (or '') and its search depth. The archive has `tree` with
 * entries for below the target, or `file` with a single file that may become the target itself. As in Docker, find(1)
 * patterns match a leading dot; at a fixed depth they cannot match a slash.
 */
const PACK = `set -e
umask 022
archive=$1 mode=$2 several=$3
shift 3
stage=$(mktemp -d /var/tmp/mayfly-image-copy.XXXXXX)
trap 'rm -rf -- "$stage"' EXIT
mkdir "$stage/all" "$stage/all/tree"
list=$stage/list
: >"$list"
while [ $# -gt 0 ]; do
  if [ "$2" = "" ]; then
    [ -e "$1" ] || { echo "there is no $1 in that stage" >&2; exit 1; }
    printf '%s\\0' "$1" >>"$list"
  else
    find "$1" -mindepth "$3" -maxdepth "$3" -path "$2" -print0 2>/dev/null | sort -z >"$stage/found"
    [ -s "$stage/found" ] || { echo "nothing in that stage matches $2" >&2; exit 1; }
    cat "$stage/found" >>"$list"
  fi
  shift 3
done
count=$(tr -dc '\\0' <"$list" | wc -c)
if [ "$count" -gt 1 ] && [ "$several" = no ]; then
  echo "several things are copied to what does not end with /" >&2
  exit 1
fi
export stage several
xargs -0 -n 1 sh -ec '
  real=$(readlink -f -- "$1")
  if [ -d "$real" ]; then cp -a -- "$real/." "$stage/all/tree/"
  elif [ "$several" = yes ]; then cp -a -T -- "$real" "$stage/all/tree/\${1##*/}"
  else rmdir "$stage/all/tree"; mkdir "$stage/all/file"; cp -a -T -- "$real" "$stage/all/file/\${1##*/}"
  fi' sh <"$list"
if [ "$mode" != "" ]; then find "$stage/all" -mindepth 2 ! -type l -exec chmod -- "$mode" {} +; fi
tar -c --xattrs --xattrs-include='security.capability' --numeric-owner -f "$archive" -C "$stage/all" .`;

const PLACE = `set -e
umask 022
archive=$1 target=$2 given=$3
owner=\${given:-0:0}
${FOLDER}
${MERGE}
stage=$(mktemp -d /var/tmp/mayfly-image-copy.XXXXXX)
trap 'rm -rf -- "$stage" "$archive"' EXIT
chmod 0755 "$stage"
tar -x -p --xattrs --xattrs-include='security.capability' --numeric-owner --same-owner -f "$archive" -C "$stage"
rm -f -- "$archive"
if [ -d "$stage/file" ]; then
  name=$(ls -A "$stage/file")
  case $target in
    */) folder "$target"; target=$target$name ;;
    *) if [ -d "$target" ]; then target=$target/$name; else folder "\${target%/*}/"; fi ;;
  esac
  if [ "$given" != "" ]; then
    mode=$(stat -c %a "$stage/file/$name")
    chown -h -- "$given" "$stage/file/$name"
    [ -L "$stage/file/$name" ] || chmod -- "$mode" "$stage/file/$name"
  fi
  cp -a --remove-destination -T -- "$stage/file/$name" "$target"
else
  folder "$target"
  owner=$given
  merge "$stage/tree" "$target"
fi`;

/** Builds the program that packs files in the source stage after its last step. */
export function packProgram({ sources, target, mode }: CopyStep): StepProgram {
  const paths = sources.flatMap((source) => toFindArguments(`/${normalizePath(source)}`));
  const several = sources.length > 1 || target.endsWith('/') ? 'yes' : 'no';
  return {
    ...AS_ROOT,
    argv: ['/bin/sh', '-c', PACK, 'sh', TRANSFER_ARCHIVE, mode ?? '', several, ...paths],
    stdin: '',
  };
}

/**
 * Builds the program that unpacks the files in the target stage. Without an owner, files keep theirs, as in BuildKit.
 */
export function unpackProgram({ target, owner }: CopyStep): StepProgram {
  const argv = ['/bin/sh', '-c', PLACE, 'sh', TRANSFER_ARCHIVE, target, owner === null ? '' : completeOwner(owner)];
  return { ...AS_ROOT, argv, stdin: '' };
}

/** Returns the start folder, the pattern and the search depth. */
function toFindArguments(path: string): [string, string, string] {
  if (!isPattern(path)) return [path, '', ''];
  const parts = path.split('/');
  const plain = parts.slice(
    0,
    parts.findIndex((part) => isPattern(part)),
  );
  return [plain.join('/') || '/', path, String(parts.length - plain.length)];
}
