import type { Logger } from 'pino';
import { redact } from '../../store/audit/redact.ts';
import { observePrograms } from '../../telemetry/programs.ts';

/** Longer arguments are documents. Characters. */
const SHOWN = 256;

/** Each program that is run has a line at `debug` when it has ended: which, for which request, how, and in what time. */
export function logPrograms(logger: Logger): void {
  if (!logger.isLevelEnabled('debug')) return;
  observePrograms((program, args) => {
    const began = performance.now();
    return (failure) => {
      const ms = Math.round(performance.now() - began);
      const how = failure ? { failure: shownText(failure.message) } : {};
      logger.debug({ program, args: shownArguments(args), ms, ...how }, 'ran a program');
    };
  });
}

/** Arguments as a log or a trace may have them: short, and without what looks like a secret. */
export function shownArguments(args: readonly string[]): string[] {
  return args.map(shownText);
}

function shownText(text: string): string {
  const hidden = String(redact(text));
  return hidden.length > SHOWN ? `${hidden.slice(0, SHOWN)}…` : hidden;
}
