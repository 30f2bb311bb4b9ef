/** A disk that goes over from its present layer, by then the snapshot's, to an empty one. */
export interface Move {
  target: string;
  frozen: string;
  overlay: string;
}

/**
 * The virsh command that moves all disks at one moment, with the memory of that moment where a file is given for it.
 * @param targets of all drives of the domain: libvirt would else save those that are not named, too
 */
export function snapshotCommand(
  sandboxId: string,
  targets: readonly string[],
  moves: readonly Move[],
  { quiesce, memory }: { quiesce: boolean; memory: string | null },
): string[] {
  const what = memory === null ? ['--disk-only'] : ['--live', '--memspec', `file=${escaped(memory)},snapshot=external`];
  const flags = ['--no-metadata', '--atomic', '--reuse-external', ...what, ...(quiesce ? ['--quiesce'] : [])];
  const disks = targets.flatMap((target) => {
    const move = moves.find((m) => m.target === target);
    return ['--diskspec', `${target},${move ? `file=${escaped(move.overlay)}` : 'snapshot=no'}`];
  });
  return ['snapshot-create-as', sandboxId, ...flags, ...disks];
}

/** A comma in a value is written twice (virsh(1)). */
function escaped(path: string): string {
  return path.replaceAll(',', ',,');
}
