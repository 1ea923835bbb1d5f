import { foldCase } from '../../mcp/index.ts';

/**
 * Whether a URI can come from a URI template (RFC 6570) by filling in its variables, and does not lead elsewhere. Only
 * `{name}` and `{+name}` are understood; a template with any other expression matches nothing, as does one in which a
 * variable could choose the scheme or, over HTTP, the host.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  if (uri.length > MAX_LENGTH || !SCHEME.test(template) || HTTP_HOST.test(template)) return false;
  const parts = partsOf(template);
  return parts !== null && fits(parts, uri) && isPlain(uri);
}

const MAX_LENGTH = 8192;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;
const HTTP_HOST = /^https?:\/*[^/?#]*\{/i;

/** Text that stands for itself, or a variable; one with `+` may become a whole path. */
type Part = { readonly literal: string } | { readonly isReserved: boolean };

function partsOf(template: string): Part[] | null {
  const parts: Part[] = [];
  for (const [word] of template.matchAll(/\{[^{}]*\}|[^{}]+|[{}]/g)) {
    const variable = /^\{(\+?)[A-Za-z0-9_.%]+\}$/.exec(word);
    if (variable !== null) parts.push({ isReserved: variable[1] === '+' });
    else if (word.includes('{') || word.includes('}')) return null;
    else parts.push({ literal: word });
  }
  return parts;
}

/** Tries every way to divide the URI at once, in time that grows with its length only. */
function fits(parts: readonly Part[], uri: string): boolean {
  /** Where the parts so far can end. */
  let ends = new Set([0]);
  for (const part of parts) {
    const next = new Set<number>();
    if ('literal' in part) {
      for (const end of ends) if (uri.startsWith(part.literal, end)) next.add(end + part.literal.length);
    } else {
      let isInside = false;
      for (let i = 0; i < uri.length; i++) {
        isInside = (isInside || ends.has(i)) && (part.isReserved || !'/?#'.includes(uri[i]!));
        if (isInside) next.add(i + 1);
      }
    }
    ends = next;
  }
  return ends.has(uri.length);
}

/**
 * Whether nothing in a URI would make a server read another place than the one it seems to name: no step upwards,
 * however often it is encoded, no backslash, no variable of a shell, no control character.
 */
export function isPlain(uri: string): boolean {
  let text = uri;
  for (let round = 0; round < MAX_ENCODED; round++) {
    if (/[\u0000-\u001f\u007f\\]|\$[({A-Za-z_]/.test(text)) return false;
    if (text.split(/[/?#]/).some((segment) => segment === '.' || segment === '..')) return false;
    const decoded = decode(text);
    if (decoded === null) return false;
    if (decoded === text) return true;
    text = decoded;
  }
  return false;
}

/** Whether a path has a step upwards, however often it is encoded. */
export function leadsUpwards(path: string): boolean {
  let text = path;
  for (let round = 0; round < MAX_ENCODED; round++) {
    if (text.split(/[/\\]/).includes('..')) return true;
    const decoded = text.replace(/%(2e|2f|5c|25)/gi, (code) => decodeURIComponent(code));
    if (decoded === text) return false;
    text = decoded;
  }
  return true;
}

/** Limit on nested percent-encodings. */
const MAX_ENCODED = 4;

/**
 * The address as the most careless reader would take it: without invisible characters, decoded as often as it is encoded,
 * without query, fragment, user and port, with all slashes alike and no `..`, in one case. Addresses with the same key
 * could be confused. Null for one that is encoded more than `MAX_ENCODED` times.
 */
export function addressKey(uri: string): string | null {
  let text = uri;
  for (let round = 0; ; round++) {
    text = text.replace(UNSEEN, '');
    const decoded = text.replace(ENCODED, (run) =>
      Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'),
    );
    if (decoded === text) break;
    if (round === MAX_ENCODED) return null;
    text = decoded;
  }
  const [whole = ''] = text.split(/[?#]/, 1);
  const [, scheme = '', rest = whole] = /^([^:/\\]*):(.*)$/s.exec(whole) ?? [];
  const steps: string[] = [];
  for (const step of rest.split(/[/\\]/)) {
    if (step === '..') steps.pop();
    else if (step !== '' && step !== '.') steps.push(step);
  }
  const [host = '', ...path] = steps;
  const name = host.slice(host.lastIndexOf('@') + 1).replace(/:[0-9]*$/, '');
  return foldCase([`${scheme}:${name}`, ...path].join('/'));
}

/** Control and format characters, spaces, what is not assigned, and marks that show nothing. */
const UNSEEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]+/gu;
const ENCODED = /(?:%[0-9A-Fa-f]{2})+/g;

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
