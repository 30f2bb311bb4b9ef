import type { Logger } from 'pino';
import { observePrograms } from '../../host/os/program-observers.ts';
import { redactArgv, redactText } from '../../model/redaction/redact.ts';

/** Longer arguments are documents. Characters. */
const SHOWN = 256;

/** Each program that is run has a line at `debug` when it has ended: which, for which request, how, and in what time. */
export function logPrograms(logger: Logger): void {
  if (!logger.isLevelEnabled('debug')) return;
  observePrograms((program, args) => {
    const began = performance.now();
    return (failure) => {
      const ms = Math.round(performance.now() - began);
      const how = failure ? { failure: short(redactText(failure.message)) } : {};
      logger.debug({ program, args: shownArguments(program, args), ms, ...how }, 'ran a program');
    };
  });
}

/** Arguments as a log or a trace may have them: short, and without what looks like a secret. */
export function shownArguments(program: string, args: readonly string[]): string[] {
  return redactArgv([program, ...args])
    .slice(1)
    .map(short);
}

function short(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
