/** Returns the rows of a table of virsh, without header and rule; accepts `--quiet` output, which has neither. */
export function tableRows(text: string): string[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const rule = lines.findIndex((line) => /^\s*-{3,}\s*$/.test(line));
  return rule < 0 ? lines : lines.slice(rule + 1);
}

/** Returns the names in `virsh list --all --name` and its like: one a line. A name may hold blanks. */
export function names(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
