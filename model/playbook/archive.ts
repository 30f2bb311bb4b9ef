import { buildTar, type TarEntry } from '../image/tar.ts';
import type { WrittenPlaybook } from './write-playbook.ts';
import { exampleOf } from './write-playbook.ts';

/** Two zero blocks that end an archive (tar(5)), bytes. */
const END = 1_024;

/** Builds an archive without its end, so that others can follow. */
export function buildArchivePart(files: readonly { name: string; bytes: Uint8Array }[]): Uint8Array {
  const entries = files.map(
    ({ name, bytes }): TarEntry => ({ path: name, type: 'file', mode: 0o644, bytes, link: null }),
  );
  return buildTar(entries).subarray(0, -END);
}

/** @param parts results of {@link buildArchivePart} */
export function finishArchive(parts: readonly Uint8Array[]): Uint8Array[] {
  return [...parts, new Uint8Array(END)];
}

/** Lists the files of a playbook. */
export function listPlaybookFiles({ text, files, variables }: Pick<WrittenPlaybook, 'text' | 'files' | 'variables'>) {
  const encoder = new TextEncoder();
  return [
    { name: 'playbook.yml', bytes: encoder.encode(text) },
    ...(variables.length > 0 ? [{ name: 'vars.example.yml', bytes: encoder.encode(exampleOf(variables)) }] : []),
    ...files,
  ];
}
