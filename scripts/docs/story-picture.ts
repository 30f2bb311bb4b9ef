import { type Arrow, type Box, picture } from './picture.ts';

/** Of workflows/sandbox/create-sandbox.ts. */
const STEPS = ['reserve', 'cloneDisk', 'bootDomain', 'awaitIp', 'verifySsh'];
/** As they are registered: the last one runs first. A lease is there as soon as the domain runs, so it goes after it. */
const UNDOS = ['releaseReservation', 'removeWorkspace', 'releaseLease', 'removeDomain'];
const [LEFT, STEP, GAP] = [20, 176, 22];

const inRow = (y: number) => (name: string, n: number) =>
  ({ x: LEFT + n * (STEP + GAP), y, width: STEP, height: 40, name, lines: [] }) satisfies Box;
const steps: Box[] = STEPS.map(inRow(20));
const undos: Box[] = UNDOS.map(inRow(120));
const end = LEFT + STEPS.length * (STEP + GAP);
const ENDS: Box[] = [
  { x: end, y: 12, width: 150, height: 56, name: 'running', lines: ['a login was tried'] },
  {
    x: LEFT,
    y: 220,
    width: 360,
    height: 64,
    name: 'looked at again',
    lines: ['each layer of the machine, after the last undo'],
  },
  {
    x: 460,
    y: 220,
    width: 280,
    height: 64,
    name: 'failed, or destroyed',
    lines: ['with the proof that nothing is left'],
  },
];

const onwards: Arrow[] = [...steps, ENDS[0]].slice(1).map((_, n) => ({
  from: [LEFT + n * (STEP + GAP) + STEP, 40],
  to: [LEFT + (n + 1) * (STEP + GAP), 40],
  label: '',
}));
const back: Arrow[] = undos.slice(1).map((_, n) => ({
  from: [LEFT + (n + 1) * (STEP + GAP), 140],
  to: [LEFT + n * (STEP + GAP) + STEP, 140],
  label: '',
}));
const ARROWS: Arrow[] = [
  ...onwards,
  ...back,
  { from: [806, 60], to: [736, 120], label: 'fails, or is cancelled', shift: [-140, 4] },
  { from: [end + 75, 68], to: [790, 140], label: 'TTL, idle, DELETE', shift: [0, 30] },
  { from: [108, 160], to: [108, 220], label: 'newest first, each until it holds', shift: [10, 4] },
  { from: [380, 252], to: [460, 252], label: '' },
];

/** docs/story.svg: how a sandbox becomes usable, or leaves nothing. */
export function storyPicture(): string {
  const label = 'reserve, cloneDisk, bootDomain, awaitIp, verifySsh, running; or their undos, a look, and a proof';
  return picture({ width: end + 170, height: 310, label, boxes: [...steps, ...undos, ...ENDS], arrows: ARROWS });
}
