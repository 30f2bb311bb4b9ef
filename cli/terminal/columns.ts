import { printable } from './printable.ts';

/** Lines with aligned columns, the header first; every cell is made safe to print. */
export function columns(header: string[], rows: string[][]): string[] {
  const safe = [header, ...rows].map((row) => row.map(printable));
  const widths = header.map((_, i) => Math.max(...safe.map((row) => row[i]?.length ?? 0)));
  return safe.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
