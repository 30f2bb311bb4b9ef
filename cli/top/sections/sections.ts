import { type AnySection, anySection } from '../rows/section.ts';
import { approvals } from './approvals.ts';
import { pools } from './pools.ts';
import { residue } from './residue.ts';
import { sagas } from './sagas.ts';
import { sandboxes } from './sandboxes.ts';

/** What `mayfly top` shows, in the order of its keys. One more is a file in sections/ and a line here. */
export const SECTIONS: readonly AnySection[] = [
  anySection(sandboxes),
  anySection(sagas),
  anySection(pools),
  anySection(approvals),
  anySection(residue),
];
