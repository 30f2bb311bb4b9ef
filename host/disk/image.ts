import { z } from 'zod';
import { withFile } from '../os/atomic-file.ts';
import { ExecError, exec } from '../os/exec.ts';

/** What `qemu-img info` prints of each file of a disk's backing chain. */
const Layers = z.array(
  z
    .object({
      filename: z.string(),
      format: z.string(),
      'virtual-size': z.number(),
      'actual-size': z.number().default(0),
    })
    .transform(({ filename: path, format, 'virtual-size': virtualBytes, 'actual-size': allocatedBytes }) => {
      return { path, format, virtualBytes, allocatedBytes };
    }),
);
/** One file of a disk's backing chain, with the bytes that the guest sees, and those allocated on the host. */
export type ImageLayer = z.infer<typeof Layers>[number];

/**
 * Top first. The format of the top is told, not probed: a guest can write a qcow2 header, and with it any file name,
 * into its raw disk. @throws ExecError when a layer is missing or of another format.
 */
export async function imageChain(path: string, format: string): Promise<ImageLayer[]> {
  const args = ['info', '--force-share', '--backing-chain', '--output=json', '-f', format, '--', path];
  return Layers.parse(JSON.parse((await exec('qemu-img', args)).stdout));
}

/**
 * The most that a copy of a disk with all it is backed by takes, bytes.
 * @throws ExecError as {@link imageChain}
 */
export async function mostCopied(path: string, format: string): Promise<number> {
  const chain = await imageChain(path, format);
  const virtual = chain[0]?.virtualBytes ?? 0;
  const allocated = chain.reduce((bytes, layer) => bytes + layer.allocatedBytes, 0);
  return allocated === 0 ? virtual : Math.min(virtual, allocated); // a block device is allocated by itself
}

/** Whether a QEMU has the image open for writing, by the locks that it holds on it while it does. */
export async function isBeingWritten(path: string): Promise<boolean> {
  try {
    await exec('qemu-img', ['info', '--output=json', '-f', 'qcow2', '--', path]);
    return false;
  } catch (error) {
    if (error instanceof ExecError && /failed to get (?:shared )?"\w+" lock/i.test(error.stderr)) return true;
    throw error;
  }
}

/**
 * Checks that a qcow2 image is whole: its tables agree with each other. Leaked clusters do no harm.
 * @throws ExecError when it is damaged, or written at this moment
 */
export async function checkImage(path: string, signal: AbortSignal): Promise<void> {
  try {
    await exec('qemu-img', ['check', '-q', '-f', 'qcow2', '--', path], { signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ExecError) || error.exitCode !== LEAKED_CLUSTERS) throw error;
  }
}

/** Where a qcow2 header has the size that the guest sees: 8 bytes, big-endian (QEMU, docs/interop/qcow2.txt). */
const SIZE_AT = 24;

/** Bytes that the guest sees of a qcow2 image that QEMU made; a program need not be started for that. */
export async function virtualBytesOf(path: string): Promise<number> {
  const { buffer, bytesRead } = await withFile(path, 'r', (file) => file.read(Buffer.alloc(8), 0, 8, SIZE_AT));
  if (bytesRead < 8) throw new TypeError(`${path} is too short for a qcow2 image`);
  return Number(buffer.readBigUInt64BE());
}

/** Has a qcow2 image that nobody uses name another file as what lies below it; nothing but the name changes. */
export async function nameBacking(
  path: string,
  { path: base, format }: Pick<ImageLayer, 'path' | 'format'>,
): Promise<void> {
  await exec('qemu-img', ['rebase', '-u', '-f', 'qcow2', '-F', format, '-b', base, '--', path]);
}

/** Exit status of `qemu-img check`, as its manual has it. */
const LEAKED_CLUSTERS = 3;
