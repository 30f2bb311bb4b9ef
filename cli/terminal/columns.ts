import type { Io } from './io.ts';
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

type Fields = (readonly [name: string, value: string | number | null | undefined | false])[];

/** Returns the lines of a record: its title, then its fields; empty ones are left out. */
export function recordLines(io: Io, title: string, fields: Fields, width = 10): string[] {
  const shown = fields.flatMap(([name, value]) =>
    value ? [`  ${name.padEnd(width)}${printable(String(value))}`] : [],
  );
  return [io.paint('bold', title), ...shown];
}
