import { MayflyApiError, MayflyConnectionError } from '../../clients/typescript/http/problem.ts';
import { ERRORS, MayflyError } from '../../model/errors.ts';
import { findMissingPackage } from '../../worker/config/readiness.mjs';
import { CliError, EXIT, type ExitCode, exitCodeOfCode } from './cli-error.ts';
import { type Io, printable } from './io.ts';
import { remedyOf } from './remedies.ts';

/** Parts of an error for a person and, with `--json`, for a program. */
interface Report {
  what: string;
  why: string;
  /** Undefined: the help is the remedy. */
  remedy?: string;
  code?: string;
  requestId?: string;
  errors?: { field: string; problem: string }[];
}

function reportOf(error: unknown): Report {
  if (error instanceof CliError)
    return { what: error.message, why: error.why, ...(error.remedy !== '' && { remedy: error.remedy }) };
  if (error instanceof MayflyApiError) {
    const { title, detail, code, unknownCode, requestId, errors } = error.problem;
    return {
      what: title,
      why: detail ?? `the API answered ${error.status} ${code}`,
      remedy: unknownCode === undefined ? remedyOf(code) : error.remedy,
      code,
      ...(requestId !== undefined && { requestId }),
      ...(errors && { errors }),
    };
  }
  if (error instanceof MayflyConnectionError) {
    return {
      what: 'The API does not answer',
      why: error.message,
      remedy: 'Start it with `mayfly up`, or set MAYFLY_URL to where it is.',
    };
  }
  if (error instanceof MayflyError) {
    return { what: ERRORS[error.code].title, why: error.message, remedy: remedyOf(error.code), code: error.code };
  }
  const unready = findMissingPackage(error);
  if (unready !== null) return unready;
  return {
    what: 'Mayfly failed in a way it does not know',
    why: error instanceof Error ? error.message : String(error),
    remedy: 'Run it again with MAYFLY_DEBUG=1 and report what it prints.',
  };
}

interface ReportOptions {
  /** Prints it as the one document on stdout, too. */
  json: boolean;
  /** `@default` that of the error */
  exitCode?: ExitCode;
  /** Command whose help is the fallback remedy. `@default` mayfly */
  command?: string;
}

/** Prints an error. Stack traces only with MAYFLY_DEBUG=1. */
export function reportError(io: Io, error: unknown, { json, command = 'mayfly', ...options }: ReportOptions): void {
  const exitCode = options.exitCode ?? exitCodeOf(error);
  const { remedy = `See \`${command} --help\`.`, ...found } = reportOf(error);
  const report = { ...found, remedy };
  if (json) io.printJson({ error: { exitCode, ...report } });
  io.note(`${io.paint('red', 'mayfly:')} ${printable(report.what)}`);
  io.note(`  why:  ${printable(report.why)}`);
  for (const { field, problem } of report.errors ?? []) io.note(`        ${printable(field)}: ${printable(problem)}`);
  io.note(`  do:   ${printable(report.remedy)}`);
  if (report.requestId) io.note(`  request ${printable(report.requestId)}`);
  if (io.env['MAYFLY_DEBUG'] === '1' && error instanceof Error) io.note(error.stack ?? '');
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof MayflyConnectionError) return EXIT.unavailable;
  if (error instanceof MayflyApiError || error instanceof MayflyError) return exitCodeOfCode(error.code);
  return findMissingPackage(error) === null ? EXIT.failed : EXIT.usage;
}
