import { SAGA_POINTS, type SagaName, type SagaPoints, type Step, WITH_MIDDLE } from '../support/saga-points.ts';
import { FAULTS, VICTIMS, type Victim } from './victims.ts';

export type HostKind = 'simulated' | 'libvirt';

/**
 * Sagas with cells; `prepare` has none: its steps run in a guest that is not a sandbox (workflows/source.integration).
 */
export type TriedSaga = Exclude<SagaName, 'prepare'>;
const isTried = (saga: SagaName): saga is TriedSaga => saga !== 'prepare';

/** Combination of a saga, one of its points, and a victim. */
export interface Cell {
  saga: TriedSaga;
  /** For instance `reserve.after`. */
  point: string;
  /** Failpoint armed with the point, for an undo; empty when only the victim fails. */
  fault: string;
  victim: Victim;
}

/**
 * Sagas without cells by kind of host: not supported, not about a host, covered elsewhere, or destructive for other
 * cells (forgetting a host ends the snapshot that all wake from).
 */
const NOT_ON: Record<HostKind, ReadonlySet<SagaName>> = {
  simulated: new Set<SagaName>(['hibernate', 'wake']),
  libvirt: new Set<SagaName>([
    'capture',
    'forget',
    'approved create',
    'open a port',
    'build an image',
    'write a playbook',
    'claim',
    'claim a shared one',
    'fill a pool',
    'set a function up',
    'take a setup back',
    'run by a schedule',
    'deliver a webhook',
    'redrive in bulk',
  ]),
};
/** Sagas without a running machine. */
const WITHOUT_MACHINE: ReadonlySet<SagaName> = new Set<SagaName>(['delete source', 'capture', 'fill a pool']);

export function nameOf({ saga, point, fault, victim }: Cell): string {
  return `${saga}/${fault === '' ? '' : 'undo:'}${point}/${victim}`;
}

/** Lists the cells of a kind of host: each saga, point and victim; other faults once per step, after its effect. */
export function cellsOn(kind: HostKind): Cell[] {
  return (Object.keys(SAGA_POINTS) as SagaName[])
    .filter(isTried)
    .filter((saga) => !NOT_ON[kind].has(saga))
    .flatMap((saga) =>
      pointsOf(saga, kind).flatMap((at) => victimsAt(saga, at, kind).map((victim) => ({ saga, ...at, victim }))),
    );
}

interface Point {
  point: string;
  fault: string;
  isHost: boolean;
}

function pointsOf(saga: SagaName, kind: HostKind): Point[] {
  const { steps, control, undos }: SagaPoints = SAGA_POINTS[saga];
  const places = (step: Step) =>
    kind === 'simulated' && WITH_MIDDLE.has(step) ? ['before', 'during', 'after'] : ['before', 'after'];
  return [
    ...steps.flatMap((step) => places(step).map((where) => ({ point: `${step}.${where}`, fault: '', isHost: true }))),
    ...control.flatMap((step) =>
      ['before', 'after'].map((where) => ({ point: `${step}.${where}`, fault: '', isHost: false })),
    ),
    ...undos.flatMap(({ fault, steps: undoing, only }) =>
      undoing.flatMap((step) =>
        (only ? [only] : places(step)).map((where) => ({ point: `${step}.${where}`, fault, isHost: true })),
      ),
    ),
  ];
}

function victimsAt(saga: SagaName, { point, isHost, fault }: Point, kind: HostKind): Victim[] {
  const killed = VICTIMS.filter(
    (victim) => (victim !== 'libvirtd' || kind === 'libvirt') && (victim !== 'machine' || !WITHOUT_MACHINE.has(saga)),
  );
  const isOnce = isHost && fault === '' && point.endsWith('.after');
  const others = FAULTS.filter((other) => isOnce && (other !== 'disk-full' || kind === 'simulated'));
  return [...killed, ...others];
}
