import { classifyOpenSshFailure } from '../../host/guest/openssh-messages.ts';
import { canRetry } from '../../host/guest/retry.ts';
import { type Case, isRecord, type Problem, stringField } from './case.ts';

/** Checks whether an attempt of the system's ssh at a guest without a prior login may be repeated. */
export function retryGroup(one: Case): Problem {
  if (!isRecord(one.expected) || typeof one.expected['retry'] !== 'boolean')
    throw new TypeError('expected has no retry');
  const phase = stringField(one.input, 'phase');
  if (phase !== 'connect' && phase !== 'session') throw new TypeError(`no phase ${JSON.stringify(phase)}`);
  const exitCode = isRecord(one.input) ? one.input['exit_code'] : undefined;
  if (typeof exitCode !== 'number') throw new TypeError('input.exit_code is not a number');
  const verdict = classifyOpenSshFailure({ stderr: stringField(one.input, 'stderr'), exitCode, phase });
  const came = canRetry(verdict, { verified: false, reissued: false });
  if (came === one.expected['retry']) return null;
  return { expected: `retry ${one.expected['retry']}`, came: `${came} (${verdict})` };
}
