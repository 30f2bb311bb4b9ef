import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { readSmall } from '../guest/agent-body.ts';
import { answerJson, assertMethod, type Route } from './exchange.ts';

/** Removal of this machine's residue; never of anything alive or wanted according to the store. */
export interface ResidueRemoval {
  sandboxes(ids: readonly string[]): Promise<void>;
  snapshots(): Promise<void>;
  captures(): Promise<void>;
}

/** Limit of a body: ids of 20 characters each, of more sandboxes than a host ever holds. */
const BODY_BYTES = 1_048_576;

const removalRequest = z.strictObject({ sandboxIds: z.array(z.string().refine(isSandboxId)) });

/** Serves `POST /residue/sandboxes`, `…/snapshots` and `…/captures`: removals that `mayfly doctor --fix` requests. */
export function residueRoute(removal: ResidueRemoval): Route {
  return async (exchange) => {
    const [kind, ...rest] = exchange.segments;
    if (rest.length > 0) throw new MayflyError('not_found', 'The relay has nothing at that path.');
    assertMethod(exchange, 'POST');
    if (kind === 'sandboxes') await removal.sandboxes(await idsOf(exchange.request));
    else if (kind === 'snapshots') await removal.snapshots();
    else if (kind === 'captures') await removal.captures();
    else throw new MayflyError('not_found', 'The relay has nothing at that path.');
    answerJson(exchange.response, 200, { removed: true });
  };
}

async function idsOf(request: Parameters<typeof readSmall>[0]): Promise<string[]> {
  const body = await readSmall(request, BODY_BYTES, 'body_too_large');
  const parsed = removalRequest.safeParse(JSON.parse(body.toString() || 'null'));
  if (parsed.success) return parsed.data.sandboxIds;
  throw new MayflyError('invalid_request', 'A list of sandbox ids is needed.');
}
