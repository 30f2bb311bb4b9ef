import type { LivePage, LiveSandbox } from '../sections/sandboxes.ts';

/** Position of a sandbox in the list, the newest first. */
type Place = Pick<LiveSandbox, 'createdAt' | 'id'>;

/** Position from which a page can be read. */
export interface Bookmark {
  /** Last sandbox before it; null: it is the first page. */
  after: Place | null;
  cursor: string;
}

const FIRST: Bookmark = { after: null, cursor: '' };

/** List of sandboxes whose pages are read in turn: a page replaces its range of the list. */
export class LiveList {
  #items: readonly LiveSandbox[] = [];
  #bookmarks: Bookmark[] = [FIRST];
  #isAll = false;
  #next: Bookmark = FIRST;

  get items(): readonly LiveSandbox[] {
    return this.#items;
  }

  /** True when the end was reached once, so that the list is complete. */
  get isAll(): boolean {
    return this.#isAll;
  }

  /** True when one page is the whole list. */
  get isOnePage(): boolean {
    return this.#isAll && this.#bookmarks.length === 1;
  }

  /** Page that was read the longest ago, or never. */
  get next(): Bookmark {
    return this.#next;
  }

  /** Returns the page of the item at `index`; after the last item, the following page. */
  pageOf(index: number): Bookmark {
    const item = this.#items[index];
    const isBefore = ({ after }: Bookmark) => after === null || item === undefined || precedes(after, item);
    return this.#bookmarks.findLast(isBefore) ?? FIRST;
  }

  /** Merges a page that was read from there. */
  merge(from: Bookmark, { items, nextCursor }: LivePage): void {
    const last = items.at(-1);
    const end = nextCursor !== null && last ? { after: last, cursor: nextCursor } : null;
    const start = from.after === null ? 0 : this.#indexAfter(from.after);
    const rest = end === null ? this.#items.length : this.#indexAfter(end.after);
    this.#items = [...this.#items.slice(0, start), ...items, ...this.#items.slice(Math.max(start, rest))];
    const isOutside = ({ after }: Bookmark) =>
      after === null || !isAfter(after, from.after) || (end !== null && precedes(end.after, after));
    const kept = this.#bookmarks.filter((mark) => isOutside(mark) || isSame(mark.after, from.after));
    this.#bookmarks = end === null ? kept : [...kept, end].sort(byPlace);
    this.#isAll ||= end === null;
    if (isSame(from.after, this.#next.after)) this.#next = end ?? FIRST;
  }

  /** Returns the first index after a place. */
  #indexAfter(place: Place): number {
    let [low, high] = [0, this.#items.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const item = this.#items[middle];
      if (item && precedes(place, item)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Reports whether `a` precedes `b` in the API's order. */
function precedes(a: Place, b: Place): boolean {
  return a.createdAt === b.createdAt ? a.id > b.id : a.createdAt > b.createdAt;
}

function isAfter(place: Place, mark: Place | null): boolean {
  return mark === null || precedes(mark, place);
}

function isSame(a: Place | null, b: Place | null): boolean {
  return a?.id === b?.id;
}

function byPlace({ after: a }: Bookmark, { after: b }: Bookmark): number {
  if (a === null || b === null) return a === null ? -1 : 1;
  return precedes(a, b) ? -1 : 1;
}
