import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { testHome } from '../../../test/clients.ts';
import { checkServers } from '../../discover/index.ts';
import { errorDocument } from '../terminal/io.ts';
import { discoveryText, problemDocument, serverDocument } from './text.ts';

/** Random enough that it is found if it is anywhere, and that no name or message holds it by chance. */
const secret = fc.stringMatching(/^[A-Za-z]{4}[0-9]{4}[A-Za-z0-9+]{12}$/);

test('whatever stands in a configuration, no output holds a secret of it', () => {
  const home = testHome();
  const place = { user: `${home.home}/locks`, project: null };
  const config = fc
    .tuple(secret, secret, secret, secret, secret)
    .map(([env, header, option, word, address]) => ({
      secrets: [env, header, option, word, address],
      text: JSON.stringify(
        {
          mcpServers: {
            a: {
              command: 'npx',
              args: ['-y', 'server', '--api-key', option, `--other=${word}`, word],
              env: { KEY: env },
            },
            b: {
              url: `https://x.example/${encodeURIComponent(address)}/mcp?key=${option}`,
              headers: { 'X-Key': header },
            },
            c: { command: 'node', args: ['s.js', `\${input:${word}}`], cwd: 7 },
            d: { command: word },
            e: { url: `not an address ${address}` },
          },
        },
        null,
        1,
      ),
    }));
  fc.assert(
    fc.property(
      config,
      fc.constantFrom('.mcp.json', '.cursor/mcp.json'),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (made, file, cut) => {
        // Also a file that breaks off anywhere, whose place is told.
        const text = cut > 0.5 ? made.text : made.text.slice(0, Math.floor(2 * cut * made.text.length));
        home.write({ '.mcp.json': '{}', '.cursor/mcp.json': '{}', [file]: text });
        const { servers, files, problems } = home.find();
        const { checked } = checkServers(servers, place);
        const told = checked.map((server) => ({ server, outcome: null }));
        const output = [
          discoveryText(told, files.length),
          JSON.stringify(told.map(serverDocument)),
          JSON.stringify(problems.map(problemDocument)),
          JSON.stringify(problems.map(({ error }) => errorDocument(error))),
        ].join('\n');
        for (const value of made.secrets) {
          expect(output).not.toContain(value);
          expect(output).not.toContain(encodeURIComponent(value!));
        }
      },
    ),
    { numRuns: 300 * inject('soak') },
  );
});
