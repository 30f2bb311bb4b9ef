import type { OutputStream } from './command.ts';

/**
 * A piece of a command's output, as the guest read it from the command at one moment. The same bytes are the guest's
 * log, the answer of its agent, and the live answer of the relay, so that all between only copy:
 *
 *     stream:u8 (1 stdout, 2 stderr, 0 the end) | at:u64 ms since 1970 | offset:u64 | length:u32 | bytes
 *
 * Big-endian. `offset` is the position of the first byte in its own stream. The end's bytes are a CommandExit in JSON.
 * Frames stand in the order in which the guest read them, over both streams.
 */
export const FRAME_HEADER_BYTES = 21;
/** A longer frame is not one of ours: a guest is not trusted to be brief. Bytes. */
export const FRAME_MAX_BYTES = 1_048_576;

export interface OutputFrame {
  stream: OutputStream;
  /** Guest clock, milliseconds since 1970. */
  atMs: number;
  /** Position of the first byte in its stream. */
  offset: number;
  bytes: Uint8Array;
}

/** The size of a chunk of stored output: `_id` is `<commandId>/<stream>/<n>`, chunk n holds bytes from n × this on. */
export const OUTPUT_CHUNK_BYTES = 65_536;
