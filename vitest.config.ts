import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { hasVectors, listFiles, readBytes } from './packages/core/test/files-node.ts';

const chromium = process.env.BULLA_CHROMIUM ?? '/usr/bin/chromium';
const BROWSER_PACKAGES = [
  '@marcbachmann/cel-js',
  '@noble/curves/ed25519.js',
  '@noble/hashes/hmac.js',
  '@noble/hashes/sha2.js',
  '@noble/hashes/sha3.js',
  '@noble/post-quantum/ml-dsa.js',
  'arktype',
  'canonicalize',
  'fast-check',
  'fflate/browser',
  'lossless-json',
  'valibot',
  'yaml',
  'zod',
  'zod/mini',
];
const isSoak = process.env.BULLA_SOAK === '1';
/** How many times as long as usual property tests, and races and crashes of processes, run. */
const provide = isSoak ? { soak: 30, rounds: 10 } : { soak: 1, rounds: 1 };
/** So that a hanging test ends; timing decides nothing else. */
const TIMEOUT = 120_000 * provide.soak;
const home = mkdtempSync(join(tmpdir(), 'bulla-home-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
const nodeConditions = ['bulla-source', 'node'];

/** Lets the core suite read its vectors from inside the browser. */
async function bullaFile(_context: unknown, action: 'has' | 'read' | 'list', path: string) {
  if (action === 'has') return hasVectors;
  return action === 'list' ? listFiles(path) : Buffer.from(await readBytes(path)).toString('base64');
}

declare module 'vitest' {
  interface ProvidedContext {
    soak: number;
    rounds: number;
  }
}

/**
 * What depends on the runtime and is run in a browser too: the provider of signatures and hashes, the encoding of text,
 * Unicode, numbers, the order of texts, packages with other code for browsers, and each verifier once from end to end.
 * The rest is plain logic on the same engine; that all of core can be loaded is a test of its own.
 */
const IN_BROWSER = [
  '{canon,crypto,json,text}/*',
  'capability/{payloads,properties,vectors}',
  'capsule/{chain,seal,verify}',
  'envelope/{authorization,hash,verify}',
  'lock/{bundle/bundle,bundle/unzip,drift/suspect,file/hashes,file/signature}',
  'log/{checkpoint,leaf,tiles,verify}',
  'manifest/{draft,names,validate}',
  'policy/policy',
  'verify/{trace,verify}',
].map((name) => `packages/core/src/${name}.test.ts`);

/** What takes long is left out of the fast run. */
const LEFT_OUT = process.env.BULLA_FAST === '1' ? ['**/*.slow.test.ts'] : [];
/** Slow tests of core are as pure as the others. */
const PURE_AND_SLOW = ['packages/core/**/*.slow.test.ts'];
const CHANGE_PROCESS = [
  'packages/bulla/src/store/checkpoints.test.ts',
  'packages/bulla/src/pin/install.test.ts',
  'packages/bulla/src/keys/{keyring-token,pkcs11}.test.ts',
];
/** The longest files begin first, so that none of them is left over for one core at the end. */
const LONGEST = [
  'bulla/src/cli/guard/hosts.slow',
  'bulla/src/consent/processes.slow',
  'bulla/src/envelope/races.slow',
  'bulla/src/cli/capability/capability.slow',
  'scripts/action.slow',
  'bulla/src/cli/run/run.slow',
  'bulla/src/store/concurrency.slow',
  'scripts/docs-pinning.slow',
  'bulla/src/cli/run/registry.slow',
  'scripts/readme.slow',
  'scripts/docs-log.slow',
  'scripts/docs-capabilities.slow',
  'bulla/src/capability/databases.slow',
];
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

/** No test may touch the data of whoever runs it. */
const env = { BULLA_HOME: home };
const onNode = {
  resolve: { conditions: nodeConditions },
  ssr: { resolve: { conditions: nodeConditions, externalConditions: nodeConditions } },
};

// Every project resolves workspace packages to their sources, so that a test never sees a stale build.
export default defineConfig({
  test: {
    // One more than cores, because tests that start programs wait for them.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        ...onNode,
        test: {
          name: 'apart',
          provide,
          // These start programs, replace modules or change the process that they run in.
          include: ['packages/**/*.{slow,node}.test.ts', ...CHANGE_PROCESS, '{vectors,scripts}/**/*.test.ts'],
          exclude: [...PURE_AND_SLOW, ...LEFT_OUT],
          globalSetup: ['packages/bulla/test/programs.ts', 'packages/bulla/test/postgres-setup.ts'],
          testTimeout: TIMEOUT,
          hookTimeout: TIMEOUT,
          env,
        },
      },
      {
        ...onNode,
        test: {
          name: 'together',
          provide,
          include: ['packages/*/{src,test}/**/*.test.ts'],
          exclude: [
            'packages/**/*.node.test.ts',
            'packages/bulla/**/*.slow.test.ts',
            ...CHANGE_PROCESS,
            ...LEFT_OUT,
          ],
          testTimeout: TIMEOUT,
          hookTimeout: TIMEOUT,
          // They leave nothing behind, so that they can share a process; that halves their time.
          isolate: false,
          env,
        },
      },
      ...(existsSync(chromium)
        ? [
            {
              resolve: { conditions: ['bulla-source', 'browser', 'module', 'import', 'default'] },
              // Named beforehand: one that is found while tests run would make the page load again under them.
              optimizeDeps: { include: BROWSER_PACKAGES },
              test: {
                name: 'browser',
                provide,
                include: [...IN_BROWSER, 'packages/core/test/doors.test.ts'],
                isolate: false,
                exclude: ['**/*.node.test.ts'],
                testTimeout: 3 * TIMEOUT,
                browser: {
                  enabled: true,
                  headless: true,
                  screenshotFailures: false,
                  commands: { bullaFile },
                  provider: playwright({
                    launchOptions: {
                      executablePath: chromium,
                      args: [
                        '--no-sandbox',
                        '--disable-gpu',
                        '--disable-quic',
                        '--disable-background-networking',
                        '--disable-component-update',
                        '--disable-sync',
                        '--no-first-run',
                      ],
                    },
                  }),
                  instances: [{ browser: 'chromium' as const }],
                },
              },
            },
          ]
        : []),
    ],
  },
});
