import type { MayflyClient } from '../../client/mayfly-client.ts';
import { unprovenLayers } from '../../model/sandbox/proof.ts';
import { isFinal } from '../../model/sandbox/sandbox.ts';
import type { Installation } from '../../worker/installation.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { gatherEvidence } from './evidence.ts';

/** Of every sandbox that there was, also of those that a template or a pool needed: its proof, and what plain tools see. */
export async function isNothingLeft(io: Io, installation: Installation, client: MayflyClient): Promise<boolean> {
  const { items } = await client.listSandboxes({ limit: 200, signal: io.signal });
  const unproved = items.filter(
    ({ state, proof }) => !isFinal(state) || proof === null || unprovenLayers(proof.observations).length > 0,
  );
  const looks = await Promise.all(
    items.map(async ({ id }) => (await gatherEvidence(installation, id)).filter(({ found }) => found)),
  );
  for (const { lookedAt } of looks.flat()) io.print(`  ${io.paint('red', 'FOUND ')}  ${printable(lookedAt)}`);
  const isNothing = unproved.length === 0 && looks.flat().length === 0;
  const said = `there were ${items.length} sandboxes, of which ${items.length - unproved.length} are proved gone`;
  const seen = looks.flat().length === 0 ? 'plain tools see nothing of any' : 'plain tools see some';
  io.print(`  ${io.paint(isNothing ? 'green' : 'red', `${said}; ${seen}`)}`);
  return isNothing;
}
