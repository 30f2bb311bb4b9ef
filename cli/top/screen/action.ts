import type { Approval } from '../../../clients/typescript/http/openapi.ts';

/** What a key asks the program to do, besides what it changes on the screen. */
export type Action =
  | { do: 'quit' | 'suspend' | 'redraw' | 'unlook' }
  | { do: 'look' | 'log-in' | 'destroy'; sandboxId: string }
  | { do: 'approve' | 'refuse'; approval: Approval };
