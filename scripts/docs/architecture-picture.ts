import { type Arrow, type Box, picture } from './picture.ts';

const BOXES: Box[] = [
  { x: 20, y: 20, width: 190, height: 64, name: 'callers', lines: ['curl, MayflyClient, CLI'] },
  { x: 290, y: 20, width: 250, height: 84, name: 'API', lines: ['mayfly serve api', 'keeps its request key'] },
  {
    x: 20,
    y: 180,
    width: 190,
    height: 104,
    name: 'store',
    lines: ['MongoDB or embedded', 'records, audit,', 'output of commands'],
  },
  {
    x: 290,
    y: 180,
    width: 250,
    height: 84,
    name: 'Temporal',
    lines: ['what must still happen:', 'histories, timers, queues'],
  },
  {
    x: 20,
    y: 370,
    width: 250,
    height: 104,
    name: 'control worker',
    lines: ['mayfly serve control', 'runs workflows; keeps', 'the user CA, the audit key'],
  },
  {
    x: 340,
    y: 370,
    width: 260,
    height: 104,
    name: 'host worker',
    lines: ['mayfly serve host, one a machine', 'steps; keeps its ledger and its', 'keys to its sandboxes'],
  },
  {
    x: 680,
    y: 370,
    width: 190,
    height: 104,
    name: 'libvirt, QEMU',
    lines: ['domains, disks, leases', 'agent in each guest'],
  },
];

const ARROWS: Arrow[] = [
  { from: [210, 52], to: [290, 52], label: 'HTTP', shift: [-16, -8] },
  { from: [415, 104], to: [415, 180], label: 'start, update, signal', shift: [8, 4] },
  { from: [330, 104], to: [190, 180], label: 'reads', shift: [-46, 0] },
  { from: [340, 264], to: [200, 370], label: 'queue control', shift: [-96, -6] },
  { from: [450, 264], to: [470, 370], label: 'queue host/<id>', shift: [12, 0] },
  { from: [90, 370], to: [90, 284], label: 'records, audit', shift: [8, 8] },
  { from: [600, 422], to: [680, 422], label: 'virsh', shift: [-16, -8] },
  { from: [540, 62], to: [590, 370], label: 'relay (TLS): live output, files', shift: [12, -40] },
];

/** docs/architecture.svg: which processes there are, and what goes between them. */
export function architecturePicture(): string {
  return picture({ width: 890, height: 500, label: 'Processes of Mayfly', boxes: BOXES, arrows: ARROWS });
}
