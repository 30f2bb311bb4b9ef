import type { SecretForm } from './secret-forms.ts';

const BYTES = 256;

/**
 * Matches many patterns in time linear in the text (A. Aho, M. Corasick, CACM 18 (6), 1975), since the text comes from
 * a hostile guest. A state is a node of the trie, 0 its root; children are linked lists, since most nodes have one.
 */
export class Automaton {
  /** Failure link of each state: the longest proper suffix that is a prefix of a pattern. */
  readonly #fail: Int32Array;
  readonly #child: Int32Array;
  readonly #sibling: Int32Array;
  readonly #byte: Uint8Array;
  /**
   * Length of the longest match that ends here; and its length with a preceding base64 character, where that is covered
   * too.
   */
  readonly #covered: Int32Array;
  readonly #withBefore: Int32Array;
  /** 1 when a character after a match that ends here is covered too. */
  readonly #after: Uint8Array;
  /** Bytes up to here that a later match may still cover. */
  readonly #held: Int32Array;
  readonly #first = new Int32Array(BYTES);
  #size = 1;

  constructor(forms: readonly SecretForm[]) {
    const most = forms.reduce((sum, { bytes }) => sum + bytes.length, 1);
    const numbers = () => new Int32Array(most);
    [this.#fail, this.#child, this.#sibling] = [numbers(), numbers(), numbers()];
    [this.#covered, this.#withBefore, this.#held] = [numbers(), numbers(), numbers()];
    [this.#byte, this.#after] = [new Uint8Array(most), new Uint8Array(most)];
    for (const form of forms) this.#add(form);
    this.#link();
  }

  /** Returns the state after a byte. */
  next(from: number, byte: number): number {
    for (let state = from; state !== 0; state = this.#at(this.#fail, state)) {
      const child = this.#childOf(state, byte);
      if (child !== 0) return child;
    }
    return this.#at(this.#first, byte);
  }

  coveredAt(state: number): number {
    return this.#at(this.#covered, state);
  }

  /** 0: no match here covers the character before it. */
  withBeforeAt(state: number): number {
    return this.#at(this.#withBefore, state);
  }

  heldAt(state: number): number {
    return this.#at(this.#held, state);
  }

  coversAfter(state: number): boolean {
    return this.#after[state] === 1;
  }

  #add({ bytes, before, after }: SecretForm): void {
    let state = 0;
    for (const [n, byte] of bytes.entries()) {
      state = (state === 0 ? this.#at(this.#first, byte) : this.#childOf(state, byte)) || this.#grow(state, byte);
      if (n + 1 < bytes.length) this.#held[state] = Math.max(this.#at(this.#held, state), n + 1 + before);
    }
    this.#covered[state] = bytes.length;
    if (before === 1) this.#withBefore[state] = bytes.length + 1;
    if (after === 1) this.#after[state] = 1;
  }

  #grow(parent: number, byte: number): number {
    const state = this.#size++;
    this.#byte[state] = byte;
    if (parent === 0) {
      this.#first[byte] = state;
      return state;
    }
    this.#sibling[state] = this.#at(this.#child, parent);
    this.#child[parent] = state;
    return state;
  }

  /** Sets failure links level by level, since each state inherits from its link. */
  #link(): void {
    let level = [...this.#first].filter((state) => state !== 0);
    while (level.length > 0) {
      const below: number[] = [];
      for (const state of level) {
        for (let child = this.#at(this.#child, state); child !== 0; child = this.#at(this.#sibling, child)) {
          const fail = this.next(this.#at(this.#fail, state), this.#byte[child] ?? 0);
          this.#fail[child] = fail;
          this.#covered[child] = Math.max(this.coveredAt(child), this.coveredAt(fail));
          this.#withBefore[child] = Math.max(this.withBeforeAt(child), this.withBeforeAt(fail));
          this.#held[child] = Math.max(this.heldAt(child), this.heldAt(fail));
          if (this.coversAfter(fail)) this.#after[child] = 1;
          below.push(child);
        }
      }
      level = below;
    }
  }

  #childOf(state: number, byte: number): number {
    let child = this.#at(this.#child, state);
    while (child !== 0 && this.#byte[child] !== byte) child = this.#at(this.#sibling, child);
    return child;
  }

  #at(numbers: Int32Array, state: number): number {
    return numbers[state] ?? 0;
  }
}
