// npm run -s bench -- NAME [--json]: prints a row for each case; the ratio is taken within the same run.
const BENCHES = {
  canon: async () => (await import('./canon.ts')).canon(),
  crypto: async () => (await import('./crypto.ts')).crypto(),
  consent: async () => (await import('./consent.ts')).consent(),
  capability: async () => (await import('./capability.ts')).capability(),
  capsule: async () => (await import('./capsule.ts')).capsule(),
  envelope: async () => (await import('./envelope.ts')).envelope(),
  gateway: async () => (await import('./gateway.ts')).gateway(),
  lock: async () => (await import('./lock.ts')).lock(),
  log: async () => (await import('./log.ts')).log(),
  manifest: async () => (await import('./manifest.ts')).manifest(),
  pinned: async () => (await import('./pinned.ts')).pinned(),
  policy: async () => (await import('./policy.ts')).policy(),
  memory: async () => (await import('./memory.ts')).memory(),
  startup: async () => (await import('./startup.ts')).startup(),
  store: async () => (await import('./store.ts')).store(),
};

const names = process.argv.slice(2).filter((argument) => argument !== '--json');
const unknown = names.filter((name) => !Object.hasOwn(BENCHES, name));
if (names.length === 0 || unknown.length > 0) {
  process.stderr.write(
    `usage: npm run -s bench -- NAME... [--json]\nbenches: ${Object.keys(BENCHES).join(', ')}\n`,
  );
  process.exit(2);
}
for (const name of names) {
  for (const row of await BENCHES[name]()) {
    if (process.argv.includes('--json')) console.log(JSON.stringify(row));
    else
      console.log(
        `${row.case.padEnd(52)} ${String(row.value).padStart(10)} ${row.unit.padEnd(8)} ${row.ratio.toFixed(3).padStart(8)} × ${row.against}`,
      );
  }
}
