import { readFileSync } from 'node:fs';
import { usageError } from '../terminal/cli-error.ts';

/**
 * The bytes of an argument. Node decodes the command line as UTF-8 and puts U+FFFD where it is none; Linux has kept the
 * bytes (proc_pid_cmdline(5)).
 * @throws CliError when they cannot be found out
 */
export function rawArgument(text: string, readCommandLine = commandLine): Buffer {
  if (!text.includes('\ufffd')) return Buffer.from(text);
  const found = argumentsIn(readCommandLine()).filter((bytes) => bytes.toString('utf8') === text);
  const [first] = found;
  if (first && found.every((bytes) => bytes.equals(first))) return first;
  throw usageError(`${JSON.stringify(text)} is not UTF-8, and its bytes are not known here`, 'Copy its directory.');
}

function argumentsIn(line: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < line.length; ) {
    const end = line.indexOf(0, at);
    found.push(line.subarray(at, end === -1 ? undefined : end));
    at = end === -1 ? line.length : end + 1;
  }
  return found;
}

function commandLine(): Buffer {
  return process.platform === 'linux' ? readFileSync('/proc/self/cmdline') : Buffer.alloc(0);
}
