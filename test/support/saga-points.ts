import type { ControlActivities } from '../../activities/control.ts';
import type { HostActivities } from '../../activities/host.ts';
import type { CreateActivities } from '../../activities/sandbox/create.ts';
import type { DeliveryActivities } from '../../activities/webhook/deliver.ts';

type Control = keyof ControlActivities | keyof DeliveryActivities;
type Host = Exclude<keyof HostActivities, keyof CreateActivities>;
export type Step = Control | Host;

/** Points of one saga at which a process can be interrupted. */
export interface SagaPoints {
  /** Steps on the host's queue, in order. */
  steps: readonly Host[];
  /** Steps of the control worker, unordered: the store and the user CA. */
  control: readonly Control[];
  /** Compensations, with the fault that triggers them. `only`: restricts the points. */
  undos: readonly { fault: string; steps: readonly Step[]; only?: 'after' }[];
}

const REMOVALS = [
  'removeCredentials',
  'removeDomain',
  'releaseLease',
  'removeWorkspace',
  'releaseReservation',
] as const;
const CREATE = ['reserve', 'cloneDisk', 'bootDomain', 'awaitIp', 'verifySsh'] as const;
const UNDO_OF_CREATE = { fault: 'verifySsh.after=error', steps: [...REMOVALS, 'lookAgain'] } as const;

/** Points of all sagas. The compiler enforces that every activity is here or in {@link ELSEWHERE}. */
export const SAGA_POINTS = {
  create: { steps: CREATE, control: ['userCaKeys', 'signCertificate', 'remember'], undos: [UNDO_OF_CREATE] },
  'approved create': { steps: ['reserve'], control: ['rememberEvent'], undos: [] },
  'open a port': { steps: [], control: ['rememberEvent'], undos: [] },
  'build an image': {
    steps: ['carryImageFiles', 'runCommand', 'saveSnapshot', 'publishSource'],
    control: ['beginImageStep', 'imageStepFailure', 'takeImageLayer', 'imageSnapshot', 'rememberImage'],
    undos: [],
  },
  'write a playbook': {
    steps: ['saveSnapshot', 'writePlaybook', 'placePlaybook', 'runCommand', 'comparePlaybook'],
    control: ['takePlaybookSnapshot', 'beginPlaybookCheck', 'playbookRuns', 'rememberPlaybook'],
    undos: [],
  },
  'run a function': {
    steps: ['reserve', 'bootDomain', 'verifySsh', 'placeRunFiles', 'runCommand', 'collectRun', 'removeWorkspace'],
    control: [
      'admitRuns',
      'beginAttempt',
      'attemptSandbox',
      'beginRunCommand',
      'commandEnd',
      'endAttempt',
      'leaveAttempt',
    ],
    undos: [
      {
        fault: 'placeRunFiles.after=error(program_not_found)',
        steps: [...REMOVALS, 'lookAgain', 'endAttempt', 'leaveAttempt'],
      },
    ],
  },
  'cancel a run': { steps: ['cancelCommand', 'collectRun'], control: ['commandEnd', 'endAttempt'], undos: [] },
  'cancel a start': { steps: ['releaseReservation', 'lookAgain'], control: ['endAttempt', 'leaveAttempt'], undos: [] },
  'retry a run': { steps: ['removeDomain'], control: ['endAttempt', 'leaveAttempt'], undos: [] },
  'keep what failed': {
    steps: ['saveSnapshot', 'verifySnapshot', 'diffRun', 'removeSnapshot'],
    control: ['diffPlace', 'takeDiffSide', 'isDiffDue', 'settleDiff', 'keepAttempt', 'settleKept'],
    undos: [{ fault: 'diffRun.after=error', steps: ['settleDiff', 'removeSnapshot'] }],
  },
  'wait at a waitpoint': { steps: ['followWaitpoints'], control: ['recordWaits'], undos: [] },
  'set a function up': {
    steps: ['placeSetupFiles', 'runCommand', 'saveSnapshot', 'removeWorkspace'],
    control: [
      'lookAtSetup',
      'beginSetupTry',
      'setupSandbox',
      'setupHost',
      'beginSetupScript',
      'setupScriptFailure',
      'takeSetupSnapshot',
      'setupReady',
    ],
    undos: [
      {
        fault: 'takeSetupSnapshot.after=error(program_not_found)',
        steps: ['removeDomain', 'lookAgain', 'removeSetupSnapshots', 'setupFailed'],
      },
    ],
  },
  'take a setup back': {
    steps: ['removeSnapshot'],
    control: ['lookAtSetup', 'endSetupSandbox', 'removeSetupSnapshots', 'forgetSetup'],
    undos: [],
  },
  'run by a schedule': { steps: [], control: ['advanceSchedule'], undos: [] },
  'deliver a webhook': { steps: [], control: ['attemptDelivery', 'endAttempt', 'leaveAttempt'], undos: [] },
  'redrive in bulk': { steps: [], control: ['nextOfBulk', 'actOnBulk', 'recordBulk'], undos: [] },
  claim: { steps: ['greet'], control: ['recordClaim'], undos: [] },
  'claim a shared one': { steps: ['greet'], control: ['admitClaim', 'recordClaim'], undos: [] },
  'fill a pool': { steps: [], control: ['recordPool', 'sightOfPool', 'memberInput'], undos: [] },
  destroy: { steps: [...REMOVALS, 'lookAgain'], control: ['remember'], undos: [] },
  snapshot: {
    steps: ['saveSnapshot', 'verifySnapshot'],
    control: ['recordSnapshot', 'rememberSnapshot'],
    undos: [{ fault: 'verifySnapshot.after=error', steps: ['thaw', 'removeSnapshot'] }],
  },
  'delete snapshot': { steps: ['removeSnapshot'], control: ['recallSnapshot', 'rememberSnapshot'], undos: [] },
  restore: {
    steps: ['interruptCommands', 'removeDomain', 'revertDisk', 'bootDomain', 'awaitIp', 'verifySsh'],
    control: ['restorable', 'signCertificate'],
    undos: [
      { fault: 'removeDomain.before=1*error', steps: ['removeDomain'], only: 'after' },
      { fault: 'revertDisk.before=1*error', steps: ['revertDisk'], only: 'after' },
      { fault: 'revertDisk.before=1*error', steps: ['bootDomain', 'awaitIp', 'verifySsh'] },
    ],
  },
  fork: { steps: CREATE, control: ['signCertificate'], undos: [UNDO_OF_CREATE] },
  pause: { steps: ['pause'], control: ['remember'], undos: [{ fault: 'pause.after=1*error', steps: ['resume'] }] },
  resume: { steps: ['resume'], control: ['remember'], undos: [{ fault: 'resume.after=1*error', steps: ['pause'] }] },
  hibernate: {
    steps: ['hibernate', 'yieldMemory'],
    control: ['remember'],
    undos: [{ fault: 'hibernate.after=1*error', steps: ['wake'] }],
  },
  wake: {
    steps: ['retakeMemory', 'wake', 'awaitIp', 'verifySsh'],
    control: ['signCertificate'],
    undos: [{ fault: 'verifySsh.after=1*error', steps: ['hibernate', 'yieldMemory'] }],
  },
  capture: {
    steps: ['reserveCapture', 'beginCapture', 'awaitCapture', 'verifyCapture', 'keepCapture'],
    control: ['recordCapture', 'rememberCapture'],
    undos: [
      { fault: 'verifyCapture.after=error', steps: ['thawSource', 'abortCapture', 'removeCapture', 'releaseCapture'] },
    ],
  },
  bake: {
    steps: ['claimSourceName', 'cleanGuest', 'shutDownGuest', 'flattenDisks', 'publishSource'],
    control: ['recordBake', 'rememberBake', 'readCreateOutcome'],
    undos: [{ fault: 'publishSource.after=error', steps: ['retractSource', 'discardImages'] }],
  },
  'delete source': { steps: ['removeSource'], control: ['rememberBake'], undos: [] },
  command: { steps: ['runCommand'], control: ['commandRequested', 'commandEnded'], undos: [] },
  'cancel command': { steps: ['cancelCommand'], control: ['commandCancelAsked'], undos: [] },
  reconcile: {
    steps: ['markedSandboxes', 'findMachine'],
    control: [
      'compareRecords',
      'takeOverSandboxes',
      'hostsToReconcile',
      'strangersAmong',
      'destroyStrangers',
      'recall',
    ],
    undos: [],
  },
  forget: {
    steps: [],
    control: ['giveHostUp', 'leaveAskedHost', 'sandboxesOn', 'endUnproved', 'forgetThingsOn'],
    undos: [],
  },
  prepare: {
    steps: [
      'inspectSource',
      'claimSource',
      'installGate',
      'createReader',
      'trustUserCa',
      'admitReader',
      'makeSourceKey',
      'verifyReader',
    ],
    control: [],
    undos: [
      {
        fault: 'verifyReader.after=error',
        steps: ['forgetSource', 'excludeReader', 'distrustUserCa', 'removeReader', 'removeGate', 'releaseSource'],
      },
    ],
  },
} as const satisfies Record<string, SagaPoints>;

export type SagaName = keyof typeof SAGA_POINTS;

export type Listed = {
  [S in SagaName]: (typeof SAGA_POINTS)[S]['steps' | 'control' | 'undos'][number] extends infer Each
    ? Each extends { steps: readonly (infer Step)[] }
      ? Step
      : Each
    : never;
}[SagaName];

/** Host activities outside the sagas above, with the tests that interrupt them. */
export const ELSEWHERE: Record<Exclude<Host, Listed>, string> = {
  startSource: 'workflows/source-power.integration',
  stopSource: 'workflows/source-power.integration',
  sendImageFiles: 'workflows/image-context.integration',
  copyBakedSource: 'workflows/bake-on-processes.integration',
  flatten: 'workflows/flatten.integration',
  settleTemplate: 'workflows/template.integration',
  publishTemplate: 'workflows/template.integration',
  retireTemplate: 'workflows/template.integration',
  lookAtTemplate: 'only looks',
  pushTrust: 'worker/ca.integration',
  lookAtMachine: 'only looks',
  ownPublicKey: 'only looks',
  storeOwnCertificate: 'only writes what a host may lose',
  silentAmong: 'only looks',
  explainPlaybook: 'workflows/playbook.integration',
};

/** Steps of a simulated host with a point between two effects. */
export const WITH_MIDDLE: ReadonlySet<Step> = new Set<Step>([
  'cloneDisk',
  'bootDomain',
  'removeDomain',
  'removeWorkspace',
  'saveSnapshot',
  'verifySnapshot',
  'removeSnapshot',
  'revertDisk',
  'pause',
  'resume',
  'flattenDisks',
  'publishSource',
  'removeSource',
  'beginCapture',
  'awaitCapture',
  'verifyCapture',
  'removeCapture',
]);
