import type { MayflyClient } from '../../client/mayfly-client.ts';
import type { Samples } from '../measure/measure.ts';

const MAX_WAIT_SECONDS = 240;

interface ByHand {
  client: MayflyClient;
  source: string;
  command: string;
  /** How a sandbox is come by: with a pool it is a claim. */
  first: 'create' | 'claim';
}

/** What a run does for its caller: a sandbox, a command in it, and its end. */
export async function byHand({ client, source, command, first }: ByHand, samples: Samples): Promise<void> {
  const { id } = await samples.time(`by hand, ${first}`, () =>
    client.createSandbox({ source }, { waitSeconds: MAX_WAIT_SECONDS }),
  );
  await samples.time('by hand, command', () => client.commands.run(id, { command }));
  await samples.time('by hand, destroy', () => client.destroySandbox(id, { waitSeconds: MAX_WAIT_SECONDS }));
}
