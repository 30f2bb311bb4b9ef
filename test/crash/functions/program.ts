import type { DeployFunction, Run } from '../../../clients/typescript/http/openapi.ts';
import { ask, outcomeOf } from '../asking.ts';
import type { Act, Stage } from '../stage.ts';

/** State that {@link outcomeOf} repeats on. */
export const UNDER_WAY = 'creating';

type Wish = Omit<DeployFunction, 'command'> & { command: string };

/** Deploys a function; idempotent per key. @param key of the act */
export async function deployed(stage: Stage, key: string, wish: Wish): Promise<string> {
  const name = `fn-${key.slice(0, 8)}`;
  const made = wish.setup ? {} : stage.made;
  await ask(() => stage.client.functions.deploy(name, { ...made, ...wish }));
  stage.ledger.deployed(name);
  return name;
}

/** Starts a run; idempotent per key. */
export async function triggered(stage: Stage, name: string, key: string): Promise<Run> {
  const { id } = await ask(({ idempotencyKey }) => stage.client.runs.create(name, {}, { idempotencyKey }), key);
  stage.ledger.accepted(id);
  return ask(() => stage.client.runs.get(id));
}

export function isOver({ state, cleanup }: Run): boolean {
  return state === 'ended' && cleanup !== 'pending';
}

/**
 * Creates an act of one event. @param told outcome of the run for the user @param wanted of these @param meanwhile
 * action while the run is unfinished
 */
export function oneRun(
  wish: Wish,
  wanted: string,
  told: (run: Run) => string = ({ outcome }) => String(outcome),
  meanwhile: (stage: Stage, run: Run, key: string) => Promise<unknown> = async () => undefined,
): Act {
  return {
    prepare: async () => [],
    run: (stage, _ids, key) => {
      let name: string | undefined;
      return outcomeOf(async () => {
        name ??= await deployed(stage, key, wish);
        const run = await triggered(stage, name, key);
        if (isOver(run)) return told(run);
        await meanwhile(stage, run, key);
        return UNDER_WAY;
      }, wanted);
    },
  };
}
