import type { MayflyClient } from '../../client/mayfly-client.ts';

/** What each door is measured on. */
export interface DoorsBench {
  apiUrl: string;
  apiKey: string;
  client: MayflyClient;
  source: string;
  runs: number;
  /** Of the doors that are measured, in their names; none: all are. */
  words: readonly string[];
}
