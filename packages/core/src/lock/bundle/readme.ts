import { sortNames } from '../../canon/index.ts';
import type { Identity } from '../file/identity.ts';
import { type Lock, lockDigest } from '../file/lock.ts';
import { RISK_LEVELS } from '../file/risk.ts';

/**
 * The text for people in a bundle. It follows from the lock alone, so that a verifier can tell whether it was
 * changed. What the server chose is quoted in ASCII: it cannot break a line or hide a character.
 */
export function bundleReadme(lock: Lock): string {
  const groups = RISK_LEVELS.toReversed().flatMap((level) => {
    const names = [...lock.tools].filter(([, tool]) => tool.risk_level === level).map(([name]) => name);
    return names.length === 0
      ? []
      : [`[${level}]`, ...sortNames(names, 'mcptrust-v1').map((name) => `  ${quoted(name)}`), ''];
  });
  return [
    'Approved tool server',
    '====================',
    '',
    `Server:  ${server(lock)}`,
    `Lock:    version ${lock.version}, ${lockDigest(lock)}`,
    `Tools:   ${lock.tools.size}`,
    '',
    ...groups,
    'The signature covers mcp-lock.json and nothing else in this bundle.',
    'A key that comes with the bundle proves nothing: verify with one that you trust already.',
    '',
  ].join('\n');
}

function server({ native, serverCommand, serverName }: Lock): string {
  if (native !== null) return identityText(native.identity);
  return serverCommand === null ? `calls itself ${quoted(serverName ?? '')}` : quoted(serverCommand);
}

function identityText(identity: Identity): string {
  if (identity.transport === 'http') return quoted(identity.url);
  return [identity.command, ...identity.args].map(quoted).join(' ');
}

function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[^ -~]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
