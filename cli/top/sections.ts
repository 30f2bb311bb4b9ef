import { type AnySection, anySection } from './section.ts';
import { approvals } from './sections/approvals.ts';
import { pools } from './sections/pools.ts';
import { residue } from './sections/residue.ts';
import { sagas } from './sections/sagas.ts';
import { sandboxes } from './sections/sandboxes.ts';

/** What `mayfly top` shows, in the order of its keys. One more is a file in sections/ and a line here. */
export const SECTIONS: readonly AnySection[] = [
  anySection(sandboxes),
  anySection(sagas),
  anySection(pools),
  anySection(approvals),
  anySection(residue),
];
