import type { ErrorCode } from '../errors.ts';

/**
 * How a sandbox's machine came to its end without anybody here having asked for that: it went off (by its guest, or by an
 * operator), its process died, it is not there any more, or it stands still since its disk failed for another reason than room.
 */
export type MachineEnd = 'stopped' | 'crashed' | 'lost' | 'io-error';

/** `hibernated`: it is off, and its memory can be gone back to. */
export type MachineState = 'on' | 'hibernated' | MachineEnd;

/** `host-restarted`: the host has booted since, so the machine ended with all others. */
export type MachineEndReason = MachineEnd | 'host-restarted';

/** What a host worker tells a sandbox's workflow. The workflow has the host look again before it believes it. */
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

const SEEN = {
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

/** Code and message of a sandbox whose machine has ended. @param report its `hostId` is named where it is given */
export function describeMachineEnd(
  sandboxId: string,
  { hostId, reason, seenAt }: Omit<MachineEndReport, 'hostId'> & Partial<Pick<MachineEndReport, 'hostId'>>,
): { code: MachineEndCode; message: string } {
  const where = hostId === undefined ? '' : ` on host ${hostId}`;
  const message = `${sandboxId}${where}: at ${seenAt} ${SEEN[reason]}. What it had not saved as a snapshot is gone.`;
  return { code: CODES[reason], message };
}
