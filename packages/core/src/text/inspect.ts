import { type Character, type CharacterClass, classOf, pointName, SUSPECT } from './characters.ts';
import { ordinaryOffsets } from './ordinary.ts';

/** A place where what a person sees differs from what a machine reads. */
export interface TextFinding {
  /**
   * `bidi-unbalanced`: a control that opens and is not closed in its paragraph, or closes nothing, so that it reorders
   * text beyond itself (Trojan Source). `ansi-escape`: a terminal control sequence as a whole. `combining-run`: more
   * than four marks on one letter (UTS #39 §5.4). The others are classes of characters.
   */
  readonly code: CharacterClass | 'bidi-unbalanced' | 'ansi-escape' | 'combining-run';
  /** UTF-16 index of the first character. */
  readonly offset: number;
  /** In UTF-16 code units. */
  readonly length: number;
  readonly characters: readonly Character[];
  /** The text that tag characters or variation selectors spell in secret, when they spell one. */
  readonly hidden?: string;
  /** A sentence for people. It never repeats text that was inspected. */
  readonly message: string;
}

/** ECMA-48: control sequences, control strings up to their end, and other escape sequences. */
const ANSI = new RegExp(
  [
    String.raw`(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]`,
    String.raw`(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f]*(?:\u0007|\u001b\\|\u009c)`,
    String.raw`\u001b[ -/]*[0-~]`,
  ].join('|'),
  'g',
);

/** Marks that are seen; selectors and other invisible marks are told by their own class. A longer run is told in parts. */
const COMBINING_RUN =
  /[[\p{Mn}\p{Me}]--[\u034f\u17b4\u17b5\u180b-\u180d\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]]{5,65535}/gv;

/**
 * Finds every place where what a person sees differs from what a machine reads, in order of offset. Neighbours of one
 * class are one finding; a bidi control always stands alone. Not told: newline, tab, and invisible characters that
 * are ordinary writing (emoji sequences, joiners in Arabic and Indic scripts, single variation selectors where
 * variants exist, wide spaces in East Asian text); unassigned code points, which depend on the Unicode version; and
 * look-alike letters, for which see `skeleton`. Takes linear time.
 */
export function inspectText(text: string): TextFinding[] {
  const findings: TextFinding[] = [];
  for (const { 0: run, index } of text.matchAll(COMBINING_RUN)) {
    findings.push(finding('combining-run', text, index, run.length));
  }
  const ordinary = ordinaryOffsets(text);
  const escaped = new Set<number>();
  for (const { 0: sequence, index } of text.matchAll(ANSI)) {
    findings.push(finding('ansi-escape', text, index, sequence.length));
    for (let at = index; at < index + sequence.length; at++) escaped.add(at);
  }
  const balance = new BidiBalance();
  let open: { code: TextFinding['code']; offset: number; length: number } | undefined;
  const close = () => {
    if (open !== undefined) findings.push(finding(open.code, text, open.offset, open.length));
    open = undefined;
  };
  const bidi: { offset: number; length: number }[] = [];
  for (const { 0: character, index } of text.matchAll(SUSPECT)) {
    const point = character.codePointAt(0)!;
    const { kind } = classOf(point)!;
    if (kind === 'bidi-control') {
      balance.enter(text, index, point);
      bidi.push({ offset: index, length: character.length });
    } else if (!ordinary.has(index) && !(kind === 'control' && escaped.has(index))) {
      if (open?.code !== kind || open.offset + open.length !== index) {
        close();
        open = { code: kind, offset: index, length: 0 };
      }
      open.length += character.length;
    }
  }
  close();
  const unbalanced = balance.finish();
  for (const { offset, length } of bidi) {
    findings.push(finding(unbalanced.has(offset) ? 'bidi-unbalanced' : 'bidi-control', text, offset, length));
  }
  return findings.sort((a, b) => a.offset - b.offset);
}

/** Pairs embeddings and isolates with what closes them, paragraph by paragraph (UAX #9, BD9 and BD11). */
class BidiBalance {
  #open: { offset: number; isolate: boolean }[] = [];
  #isolates = 0;
  #unbalanced = new Set<number>();
  #last = 0;

  enter(text: string, offset: number, point: number): void {
    if (/[\n\r\u001c-\u001e\u0085\u2029]/.test(text.slice(this.#last, offset))) this.#endParagraph();
    this.#last = offset;
    if (point === 0x2069) {
      // Closes its isolate and every embedding inside it that is still open.
      if (this.#isolates === 0) return void this.#unbalanced.add(offset);
      const match = this.#open.findLastIndex((opener) => opener.isolate);
      for (const { offset: at } of this.#open.splice(match).slice(1)) this.#unbalanced.add(at);
      this.#isolates--;
    } else if (point === 0x202c) {
      if (this.#open.at(-1)?.isolate === false) this.#open.pop();
      else this.#unbalanced.add(offset);
    } else {
      const isolate = point >= 0x2066;
      if (isolate) this.#isolates++;
      this.#open.push({ offset, isolate });
    }
  }

  finish(): ReadonlySet<number> {
    this.#endParagraph();
    return this.#unbalanced;
  }

  #endParagraph(): void {
    for (const { offset } of this.#open) this.#unbalanced.add(offset);
    this.#open = [];
    this.#isolates = 0;
  }
}

function finding(code: TextFinding['code'], text: string, offset: number, length: number): TextFinding {
  const points = Array.from(text.slice(offset, offset + length), (character) => character.codePointAt(0)!);
  const characters = points.map((point): Character => {
    const name =
      classOf(point)?.name ?? (code === 'combining-run' ? 'combining mark' : 'printable character');
    return { point: pointName(point), name };
  });
  const hidden = code === 'tag' ? tagText(points) : code === 'variation-selector' ? selectorText(points) : '';
  const message = sentence(code, characters, hidden !== '');
  return { code, offset, length, characters, ...(hidden === '' ? {} : { hidden }), message };
}

/** Tag characters mirror ASCII. */
function tagText(points: readonly number[]): string {
  return points
    .map((point) => point - 0xe0000)
    .filter((ascii) => ascii >= 0x20 && ascii < 0x7f)
    .map((ascii) => String.fromCharCode(ascii))
    .join('');
}

/** The 256 selectors used as bytes of UTF-8, which is how text is smuggled in them; empty if they spell no text. */
function selectorText(points: readonly number[]): string {
  if (points.length < 2 || points.some((point) => point < 0xfe00)) return '';
  const bytes = points.map((point) => (point < 0xe0100 ? point - 0xfe00 : point - 0xe0100 + 16));
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return '';
  }
}

const SENTENCES: Record<TextFinding['code'], string> = {
  control: 'controls a terminal or a machine and is not seen',
  invisible: 'is not seen by a person, but read by a machine',
  'bidi-mark': 'is not seen and can change the order in which text is shown',
  'bidi-control': 'is not seen and changes the order in which text is shown',
  'bidi-unbalanced':
    'is not seen, has no partner, and changes the order in which the text around it is shown',
  'variation-selector': 'is not seen here and can carry hidden text',
  tag: 'is not seen and can carry hidden text',
  space: 'looks like an ordinary space or line end and is another character',
  'private-use': 'has no agreed meaning or look',
  noncharacter: 'is not a character at all',
  surrogate: 'is half of a pair and has no meaning alone',
  'ansi-escape': 'makes a terminal change what it shows',
  'combining-run': 'stand on one letter and can cover the text around it',
};

function sentence(code: TextFinding['code'], characters: readonly Character[], hidden: boolean): string {
  const { point, name } = characters[0]!;
  const count = characters.length;
  let what = count === 1 ? `${point} (${name})` : `A run of ${count} characters from ${point} (${name}) on`;
  if (code === 'ansi-escape') what = `An escape sequence of ${count} characters`;
  if (code === 'combining-run') what = `${count} combining marks`;
  return `${what} ${hidden ? 'is not seen and spells a hidden text' : SENTENCES[code]}.`;
}
