import type { ErrorCode } from '../errors.ts';

/**
 * Unrequested end of a sandbox's machine: shut down (by its guest or an operator), its process died, it disappeared, or
 * it is suspended after a disk error other than lack of space.
 */
export type MachineEnd = 'stopped' | 'crashed' | 'lost' | 'io-error';

/** `hibernated`: off, with its memory saved. */
export type MachineState = 'on' | 'hibernated' | MachineEnd;

/** `host-restarted`: the host has rebooted, which ended all machines. */
export type MachineEndReason = MachineEnd | 'host-restarted';

/** Report of a host worker to a sandbox's workflow, which has the host verify it. */
export interface MachineEndReport {
  hostId: string;
  reason: MachineEndReason;
  /** ISO 8601. */
  seenAt: string;
}

const CODES = {
  stopped: 'machine_stopped',
  crashed: 'machine_crashed',
  lost: 'machine_lost',
  'io-error': 'machine_io_error',
  'host-restarted': 'host_restarted',
} as const satisfies Record<MachineEndReason, ErrorCode>;

const DESCRIPTIONS = {
  stopped: 'its machine was off, and nobody had asked Mayfly for that',
  crashed: 'the process of its machine had died',
  lost: 'its machine was not there any more',
  'io-error': 'its machine stood still: its disk had failed, and not for want of room',
  'host-restarted': 'its host had restarted, and its machine had ended with it',
} as const satisfies Record<MachineEndReason, string>;

export const MACHINE_END_CODES = Object.values(CODES);
type MachineEndCode = (typeof CODES)[MachineEndReason];

export function isMachineEnd(state: MachineState): state is MachineEnd {
  return state !== 'on' && state !== 'hibernated';
}

export function isMachineEndCode(code: string): code is MachineEndCode {
  return MACHINE_END_CODES.some((known) => known === code);
}

/**
 * Returns code and message of a sandbox whose machine has ended.
 * @param report `hostId` is optional, and part of the message
 */
export function describeMachineEnd(
  sandboxId: string,
  { hostId, reason, seenAt }: Omit<MachineEndReport, 'hostId'> & Partial<Pick<MachineEndReport, 'hostId'>>,
): { code: MachineEndCode; message: string } {
  const where = hostId === undefined ? '' : ` on host ${hostId}`;
  const message = `${sandboxId}${where}: at ${seenAt} ${DESCRIPTIONS[reason]}. What it had not saved as a snapshot is gone.`;
  return { code: CODES[reason], message };
}
