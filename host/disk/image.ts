import { z } from 'zod';
import { withFile } from '../os/atomic-file.ts';
import { ExecError, exec } from '../os/exec.ts';

/** Output of `qemu-img info` for each file of a disk's backing chain. */
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
/** File of a disk's backing chain, with its virtual size and the bytes allocated on the host. */
export type ImageLayer = z.infer<typeof Layers>[number];

/**
 * Returns the backing chain, top first. The top's format is given, not probed: a guest can write a qcow2 header, with
 * any file name, into its raw disk. @throws ExecError when a layer is missing or of another format.
 */
export async function imageChain(path: string, format: string): Promise<ImageLayer[]> {
  const args = ['info', '--force-share', '--backing-chain', '--output=json', '-f', format, '--', path];
  return Layers.parse(JSON.parse((await exec('qemu-img', args)).stdout));
}

/**
 * Returns the upper bound of a copy of a disk with its backing chain, bytes.
 * @throws ExecError as {@link imageChain}
 */
export async function maxCopyBytes(path: string, format: string): Promise<number> {
  const chain = await imageChain(path, format);
  const virtual = chain[0]?.virtualBytes ?? 0;
  const allocated = chain.reduce((bytes, layer) => bytes + layer.allocatedBytes, 0);
  return allocated === 0 ? virtual : Math.min(virtual, allocated); // a block device reports no allocation
}

/** Reports whether a QEMU has the image open for writing, by the locks that QEMU holds on it. */
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
 * Checks the consistency of a qcow2 image's tables. Leaked clusters are tolerated.
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

/** Offset of the virtual size in a qcow2 header: 8 bytes, big-endian (QEMU, docs/interop/qcow2.txt). */
const SIZE_AT = 24;

/** Returns the virtual size of a qcow2 image made by QEMU, without starting a program. */
export async function virtualBytesOf(path: string): Promise<number> {
  const { buffer, bytesRead } = await withFile(path, 'r', (file) => file.read(Buffer.alloc(8), 0, 8, SIZE_AT));
  if (bytesRead < 8) throw new TypeError(`${path} is too short for a qcow2 image`);
  return Number(buffer.readBigUInt64BE());
}

/** Changes the backing file's name in an unused qcow2 image, and nothing else. */
export async function setBackingFile(
  path: string,
  { path: base, format }: Pick<ImageLayer, 'path' | 'format'>,
): Promise<void> {
  await exec('qemu-img', ['rebase', '-u', '-f', 'qcow2', '-F', format, '-b', base, '--', path]);
}

/** Exit status of `qemu-img check`, see its manual. */
const LEAKED_CLUSTERS = 3;
