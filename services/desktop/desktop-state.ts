import { replaceControls } from '../../model/utf8.ts';
import { ByteReader, ProtocolError } from './rfb/byte-reader.ts';

interface DesktopState {
  width: number;
  height: number;
  pointer: { x: number; y: number };
  /** In the order in which the window manager got them. */
  windows: DesktopWindow[];
}

interface DesktopWindow {
  id: string;
  /** Null where the program does not set it. */
  pid: number | null;
  /** WM_CLASS, such as `chromium.Chromium`. */
  class: string;
  title: string;
  x: number;
  y: number;
  width: number;
  height: number;
  /** True for the window with the keyboard focus. */
  isActive: boolean;
}

/** Limit of the report of a guest. */
const MAX_BYTES = 65_536;
const MAX_WINDOWS = 200;
const MAX_TITLE_LENGTH = 500;
const SIZE = /^(\d{1,5}) (\d{1,5})$/m;
const POINTER = /^x:(-?\d{1,6}) y:(-?\d{1,6}) /m;
const ACTIVE = /^active:(\d{1,10})$/m;
/** `wmctrl -lpGx`: id, desktop, pid, x, y, width, height, class, host, title. */
const WINDOW =
  /^0x([0-9a-f]{1,8}) +-?\d+ +(\d{1,10}) +(-?\d{1,6}) +(-?\d{1,6}) +(\d{1,6}) +(\d{1,6}) +(\S{1,200}) +\S+ ?(.*)$/;

/**
 * Parses the output of images/root.desktop's `look`. Skips lines that do not match, since titles are untrusted. @throws
 * ProtocolError
 */
export async function readState(incoming: AsyncIterator<Uint8Array>): Promise<DesktopState> {
  const text = await new ByteReader(incoming).rest(MAX_BYTES);
  const [, width, height] = SIZE.exec(text) ?? [];
  const [, x, y] = POINTER.exec(text) ?? [];
  if (width === undefined || x === undefined) throw new ProtocolError('it does not say what is on its screen');
  const active = ACTIVE.exec(text)?.[1];
  const windows = text
    .split('\n')
    .flatMap((line) => windowOf(line, Number(active)) ?? [])
    .slice(0, MAX_WINDOWS);
  return { width: Number(width), height: Number(height), pointer: { x: Number(x), y: Number(y) }, windows };
}

function windowOf(line: string, active: number): DesktopWindow | null {
  const found = WINDOW.exec(line);
  if (!found) return null;
  const [, id = '', pid, x, y, width, height, name = '', title = ''] = found;
  return {
    id: `0x${id}`,
    pid: Number(pid) || null,
    class: toDisplayText(name),
    title: toDisplayText(title),
    x: Number(x),
    y: Number(y),
    width: Number(width),
    height: Number(height),
    isActive: Number.parseInt(id, 16) === active,
  };
}

function toDisplayText(text: string): string {
  return replaceControls(text.slice(0, MAX_TITLE_LENGTH));
}
