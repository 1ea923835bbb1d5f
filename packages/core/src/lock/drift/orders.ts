// What a description of a tool has no reason to say: words that speak to the model. English only, and easily evaded;
// what is found is worth a look, and what is not found proves nothing. Every run is bounded, so that no text takes
// more than linear time.

const GAP = '\\s{1,8}';
const FILL = `(?:[\\w'’-]{1,30}${GAP}){0,4}?`;

const ORDERS: readonly RegExp[] = [
  // Hide something from the person.
  `\\b(?:do not|don['’]?t|never|without)${GAP}${FILL}(?:tell|mention|inform|show|reveal|disclose|notify|ask|warn)(?:ing)?\\b`,
  // Set aside what was said before.
  `\\b(?:ignore|disregard|forget|override|bypass|supersede)s?${GAP}${FILL}(?:previous|prior|above|earlier|other|instructions?|rules?|polic(?:y|ies)|guidelines?|tools?)\\b`,
  // Change how and when other tools are used.
  `\\b(?:before|after|instead of|prior to|rather than|whenever|every time|each time)${GAP}(?:you${GAP})?(?:us(?:e|ing)|call(?:ing)?|invok(?:e|ing)|run(?:ning)?|answer(?:ing)?|respond(?:ing)?)\\b`,
  // Speak to the model.
  `\\b(?:you|assistants?|agents?|models?|llms?)${GAP}(?:must|should|shall|have to|need to|are required to)\\b`,
  `\\b(?:always|must|first|also)${GAP}(?:call|use|invoke|run|read|send|include|pass|fetch|open|execute|forward|upload)\\b`,
  '<\\s{0,8}/?\\s{0,8}(?:important|system|instructions?|secret|hidden|critical|mandatory|assistant|user|human|admin|prompt|tool_call|function_call)\\s{0,8}>',
  '\\[(?:system|inst|important)\\]|\\b(?:important|critical|mandatory|system|attention)\\s{0,8}[:!]',
].map((source) => new RegExp(source, 'giu'));

/** What should stay where it is. */
const SECRETS =
  /\b(?:passwords?|credentials?|secrets?|api[ _-]?keys?|private keys?|ssh keys?|access tokens?|environment variables|system prompt|conversation(?: history)?|chat history|previous messages)\b/giu;

/** Long runs without a space, as base64 and hex are. */
const ENCODED = /(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{48,65535}={0,2}/gu;

/** A word of Latin letters with letters of an alphabet that has look-alikes of them. */
const MIXED =
  /(?<![\p{L}\p{M}])(?=[\p{L}\p{M}]{0,65535}?[A-Za-z])(?=[\p{L}\p{M}]{0,65535}?[\p{sc=Cyrillic}\p{sc=Greek}\p{sc=Armenian}\p{sc=Cherokee}\p{sc=Coptic}\p{sc=Lisu}\p{sc=Deseret}])[\p{L}\p{M}]{1,65535}/gu;

/** What is looked for in a text, by the code of a finding, and how the finding is told. */
export const PHRASES = {
  'mixed-script': { patterns: [MIXED], what: 'mixes letters of several alphabets in a word' },
  'encoded-text': { patterns: [ENCODED], what: 'holds text that only a machine reads' },
  'secret-named': { patterns: [SECRETS], what: 'speaks of secrets or of the conversation', fold: true },
  'order-added': { patterns: ORDERS, what: 'gives orders to who reads it', fold: true },
} as const satisfies Readonly<Record<string, Phrases>>;

interface Phrases {
  readonly patterns: readonly RegExp[];
  /** To go after the text that holds it. */
  readonly what: string;
  /** Case and runs of white space do not count. */
  readonly fold?: true;
}

/** The phrases of a text that a code stands for, each time that they occur. */
export function phrasesIn(text: string, code: keyof typeof PHRASES): string[] {
  const { patterns, fold }: Phrases = PHRASES[code];
  const found = patterns.flatMap((pattern) => Array.from(text.matchAll(pattern), ([phrase]) => phrase));
  return fold ? found.map((phrase) => phrase.toLowerCase().replace(/\s+/g, ' ')) : found;
}
