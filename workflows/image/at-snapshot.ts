import type { SandboxInput } from '../../model/sagas/messages.ts';
import { control } from '../saga/control.ts';

/** A sandbox of a build that begins at what another one has come to just now: on its host. */
export async function atSnapshot(builder: SandboxInput, snapshotId: string): Promise<SandboxInput> {
  const { snapshot, host } = await control.imageSnapshot({ snapshotId });
  const { content: _content, ...input } = builder;
  return { ...input, spec: { ...builder.spec, source: snapshot.source, snapshotId }, hosts: [host] };
}
