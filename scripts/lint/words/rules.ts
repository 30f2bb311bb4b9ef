/** Words and phrases that ../shared/words.md bans: each stands for a term of the field. */
const BANNED = `
  tell, tells, told, untold, telling, said, say, says, saying, heard, hear, hears, ask, asks, asked, asking,
  asker, wish, wishes, wished, begun, whoever, whatever, whichever, somebody, nobody, anybody, anew, meanwhile,
  stranger, strangers, leave of, goes on, go on, going on, gone on, went on, any more, once more, no more,
  of before, by and by, give way, gives way, given way, gave way, giving way, in their place, in its place,
  take back, takes back, taken back, took back, left off, what is, what was, what it, what they, what has,
  what had, what may, what must, what there, what a, what an, what the, what becomes, what became, what comes,
  what came, what needs, what holds, what can, what can't, who is, who was, who has, who had, who asks,
  who asked, who may, who needs, who waits, who reads, who did, who can, who does, who made, who holds,
  who else, whose it, of which nothing, of whom, from whom, to whom, sees to it, see to it, so far as,
  as late as, let be, lets be, let go, is left to, there is to, is none of, comes to, come to nothing,
  stands for, is so, it is so, is gone, are gone, was gone, goes away, gone away, is no, are no, was no,
  is over, was over, are over, at all, by itself, beside it, beside its
`
  .trim()
  .split(/,\s+/);
const DIALECT = new RegExp(`(?<![\\w-])(?:${BANNED.join('|').replaceAll(' ', '\\s+')})(?![\\w-])`, 'gi');

/** First words that put off the noun or the verb of a sentence. */
const OPENINGS = /^(?:What|Whether|How|Of|Where|Who|Whose|Those|It|One|That)\b/;

const IRREGULAR = new Set(
  'begun built done found given gone got heard held kept known left lost made met said seen sent shown taken told written drawn grown spent meant led'.split(
    ' ',
  ),
);

export const LONGEST_FIRST_SENTENCE = 25;

/** Removes text that is quoted: names in backquotes, links, quotations. */
export function withoutQuotes(text: string): string {
  return text
    .replaceAll(/```[\s\S]*?```/g, ' ')
    .replaceAll(/`[^`]*`/g, ' N ')
    .replaceAll(/\{@\w+[^}]*\}/g, ' N ')
    .replaceAll(/https?:\S+/g, ' N ')
    .replaceAll(/"[^"\n]{0,200}"|“[^”]*”/g, ' N ');
}

/** Returns the banned words in a text. */
export function findDialect(text: string): string[] {
  return withoutQuotes(text).match(DIALECT) ?? [];
}

export function countWords(text: string): number {
  return withoutQuotes(text).match(/[A-Za-z][\w'’-]*/g)?.length ?? 0;
}

export function hasBadOpening(comment: string): boolean {
  return OPENINGS.test(comment);
}

/** Counts the words of the first sentence, tags such as `@param` excluded. */
export function firstSentenceLength(comment: string): number {
  const [text = ''] = withoutQuotes(comment).split(/(?:^|\s)@(?:param|returns|throws|default)\b/);
  const [sentence = ''] = text.split(/[.:;](?=\s|$)/);
  return countWords(sentence);
}

const VERBS_IN_ED = new Set(['feed', 'seed', 'need', 'embed', 'speed', 'exceed', 'proceed', 'succeed', 'shed']);

/** Recognizes a function name that is one past participle. */
export function isBareParticiple(name: string): boolean {
  const word = name.replace('#', '');
  return IRREGULAR.has(word) || (/^[a-z]+[a-z]{2}ed$/.test(word) && !VERBS_IN_ED.has(word));
}
