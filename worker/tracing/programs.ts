import type { Logger } from 'pino';
import { observePrograms } from '../../host/os/program-observers.ts';
import { redactArgv, redactText } from '../../model/redaction/redact.ts';

/** Maximum characters of an argument; longer ones are documents. */
const SHOWN = 256;

/** Logs each finished program at `debug`: its arguments, duration and failure. */
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

/** Formats arguments for logs and traces: shortened, and with probable secrets redacted. */
export function shownArguments(program: string, args: readonly string[]): string[] {
  return redactArgv([program, ...args])
    .slice(1)
    .map(short);
}

function short(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
