import type { Sandbox } from '../../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { sandboxLines } from '../../sandbox/sandbox-text.ts';
import { between, duration } from '../../terminal/duration.ts';
import { Io } from '../../terminal/io.ts';
import { cellText } from '../rows/row.ts';

/** Text without colours: a line of the screen has its own. */
function plainIo(): Io {
  const nowhere = { write: () => {} };
  const { signal } = new AbortController();
  return new Io({ stdout: nowhere, stderr: nowhere, env: {}, signal, force: signal });
}

/** A sandbox as `mayfly sandbox get` shows it, and its steps. */
function lookLinesOf(record: Sandbox): string[] {
  const steps = record.steps.map(({ step, startedAt, endedAt }) => {
    return `  ${step.padEnd(22)}${duration(between(startedAt, endedAt)).padStart(9)}`;
  });
  return [...sandboxLines(plainIo(), record), ...steps].map(cellText);
}

/** Tells how it is, and each change, until it has ended or nobody looks any more. */
export async function watchLook(
  client: MayflyClient,
  sandboxId: string,
  signal: AbortSignal,
  tell: (lines: string[]) => void,
): Promise<void> {
  try {
    for await (const record of client.watchSandbox(sandboxId, { signal })) tell(lookLinesOf(record));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
