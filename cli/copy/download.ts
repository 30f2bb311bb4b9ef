import { stat } from 'node:fs/promises';
import type { FileContent, Files } from '../../clients/typescript/sandbox/files.ts';
import { CliError, usageError } from '../terminal/cli-error.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import { withNotes } from './archive-notes.ts';
import { refuseLinkOut, unlessAbsent, writeWhole } from './local-file.ts';
import { writeTree } from './local-tree.ts';
import { baseName, join, type LocalSide, type SandboxSide, SLASH, shownPath, trimSlashes } from './side.ts';
import { unpack } from './tar.ts';
import { type CopyOptions, isDirectory } from './upload.ts';

/** Copies a file of a sandbox, or a directory, to here. @returns where it went */
export async function download(
  files: Files,
  source: SandboxSide,
  target: LocalSide,
  options: CopyOptions,
): Promise<LocalSide> {
  const { sandboxId, path } = source;
  if (!(await isDirectory(files, sandboxId, path, options.signal))) {
    const placed = await within(source, target);
    const read = await files.read(sandboxId, path, { signal: options.signal });
    await writeWhole(placed.path, whole(read, options), Number.parseInt(read.mode, 8));
    return placed;
  }
  if (!options.recursive) {
    throw usageError(`${shownPath(path)} is a directory`, 'Give -r to copy it with all that is in it.');
  }
  const placed = await within(source, { ...target, path: trimSlashes(target.path) });
  await refuseLinkOut(placed.path);
  await writeTree(placed.path, async (directory) => {
    const { body } = await files.readArchive(sandboxId, path, { signal: options.signal });
    await unpack(withNotes(options.progress.counting(body), options.onNote), directory, options.signal);
  });
  return placed;
}

/** Copies a file of a sandbox to a stream, such as standard output. */
export async function downloadStream(
  files: Files,
  { sandboxId, path }: SandboxSide,
  write: (bytes: Uint8Array) => Promise<void>,
  options: CopyOptions,
): Promise<void> {
  const read = await files.read(sandboxId, path, { signal: options.signal });
  for await (const chunk of whole(read, options)) await write(chunk);
}

/** The content, counted; fails when it ends before its end. */
async function* whole({ body, size }: FileContent, { progress }: CopyOptions) {
  progress.total = size;
  yield* progress.counting(body);
  if (size === null || progress.bytes === size) return;
  const why = `${progress.bytes} of ${size} bytes have come`;
  throw new CliError(EXIT.failed, 'The copy is not whole and was not kept', why, 'Copy it again.');
}

async function within(source: SandboxSide, target: LocalSide): Promise<LocalSide> {
  const present = await stat(target.path).catch(unlessAbsent(null));
  if (!present?.isDirectory()) {
    if (target.path.at(-1) !== SLASH) return target;
    throw usageError(`there is no directory ${shownPath(target.path)}`, 'Make it first, or leave the slash out.');
  }
  const name = baseName(source.path);
  if (name === null) throw usageError(`${shownPath(source.path)} has no name`, 'Say how the copy shall be named.');
  return { ...target, path: join(target.path, name) };
}
