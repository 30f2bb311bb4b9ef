import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import type { Row } from './row.ts';

export interface Column {
  title: string;
  /** Where there is no room for all, those with the highest rank are left out first. */
  rank: number;
}

/** What was found of a section. */
export interface Found<T> {
  items: T[];
  /** Whether these are all there are. */
  isAll: boolean;
}

export interface Section<T = unknown> {
  readonly name: string;
  readonly columns: readonly Column[];
  /** How often it is read while it is shown. Milliseconds. */
  readonly everyMs: number;
  read(client: MayflyClient, signal: AbortSignal): Promise<Found<T>>;
  row(item: T): Row;
}

/** A section whose items are known to itself alone. */
export interface AnySection extends Pick<Section, 'name' | 'columns' | 'everyMs'> {
  /** With the items as a program gets them. */
  rows(client: MayflyClient, signal: AbortSignal): Promise<Found<unknown> & { rows: Row[] }>;
}

export function anySection<T>(section: Section<T>): AnySection {
  const { name, columns, everyMs } = section;
  return {
    name,
    columns,
    everyMs,
    rows: async (client, signal) => {
      const found = await section.read(client, signal);
      return { ...found, rows: found.items.map((item) => section.row(item)) };
    },
  };
}
