import { setTimeout as pause } from 'node:timers/promises';
import type { Run } from '../../clients/typescript/http/openapi.ts';
import { customCommand } from '../terminal/command.ts';
import { LIST_OPTION } from '../terminal/list.ts';
import { printable } from '../terminal/printable.ts';
import { HOOK, hookId } from './hook-args.ts';

/** What is seen at one look; more in a second are not shown. */
const SEEN = 100;
const BETWEEN_MS = 1_000;

/** `mayfly hook listen`: until Ctrl-C. What is refused becomes no run: the log of the API says why. */
export const listenCommand = customCommand({
  description: "Show what comes in for a hook's function, as it comes and as it ends",
  args: { ...HOOK, ...LIST_OPTION },
  async run({ io, args, connect }) {
    const { hooks, runs } = connect();
    const { signal } = io;
    const hook = await hooks.get(hookId(args.id), { signal });
    const query = { function: hook.function, limit: SEEN, signal };
    const shown = new Map((await runs.list(query)).items.map(({ id, state }) => [id, state === 'ended']));
    io.note(`Listening for events of ${hook.function}. Ctrl-C ends it.`);
    for (;;) {
      for (const run of (await runs.list(query)).items.reverse()) {
        const hasEnded = run.state === 'ended';
        if (shown.get(run.id) === hasEnded) continue;
        shown.set(run.id, hasEnded);
        if (args.json) io.printJson(run);
        else io.print(line(run));
      }
      await pause(BETWEEN_MS, undefined, { signal });
    }
  },
});

function line({ id, event, acceptedAt, endedAt, state, outcome }: Run): string {
  return printable(`${endedAt ?? acceptedAt}  ${id}  ${event.type}  ${event.id}  ${outcome ?? state}`);
}
