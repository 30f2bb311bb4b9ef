import type { Hypervisor } from '../../host/hypervisor.ts';
import type { StartRequest, StopRequest } from '../../host/source-power.ts';
import type { SourcePowerResult } from '../../model/snapshots/source-power.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';

/** Target of a start; `sandboxId` is not the source's id, so that neither it nor a prepare fences off the other. */
type StartTarget = StepTarget & StartRequest;

/** Activities that start and stop a source. No compensation: a failed one may be requested again. */
export function createSourcePowerActivities({ hypervisor: { power } }: { hypervisor: Pick<Hypervisor, 'power'> }) {
  return {
    /** @throws MayflyError source_not_found, source_read_only, source_in_use, source_start_failed */
    async startSource({ sourceId, source, answersMs }: StartTarget): Promise<SourcePowerResult> {
      return power.start({ sourceId, source, answersMs }, stepContext());
    },
    /** @throws MayflyError source_not_found, source_stop_failed */
    async stopSource({ sourceId, source, force, withinMs }: StepTarget & StopRequest): Promise<void> {
      await power.stop({ sourceId, source, force, withinMs }, stepContext());
    },
  };
}
