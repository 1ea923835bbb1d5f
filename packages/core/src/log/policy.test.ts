import { describe, expect, it } from 'vitest';
import {
  concat,
  formatNote,
  formatVkey,
  localSigner,
  type NoteSigner,
  noteVerifier,
  parseNote,
  publicKey,
  toBase64,
  toUtf8,
} from '../crypto/index.ts';
import {
  type Checkpoint,
  evaluatePolicy,
  formatPolicy,
  type Policy,
  parsePolicy,
  signCheckpoint,
} from './index.ts';

const code = (code: string) => expect.objectContaining({ code });
const origin = 'bulla.example/acme/main';
const time = 1_700_000_000;
const ed25519 = (n: number) => localSigner('Ed25519', new Uint8Array(32).fill(n));
const verifierOf = (name: string, n: number, type: number) =>
  noteVerifier(name, publicKey('Ed25519', ed25519(n).publicKey), type);
const pqSigner = localSigner('ML-DSA-44', new Uint8Array(32).fill(50));
const pqVerifier = (name: string) => noteVerifier(name, publicKey('ML-DSA-44', pqSigner.publicKey), 0x06);

const logKey = formatVkey(verifierOf(origin, 1, 0x01));
const log: NoteSigner = { name: origin, signer: ed25519(1) };
const names = ['X1', 'X2', 'X3', 'Y1', 'Y2', 'Y3'];
const witnessName = (i: number) => `witness.example/${names[i]!.toLowerCase()}`;
const witnessKey = (i: number) => formatVkey(verifierOf(witnessName(i), 10 + i, 0x04));
const witness = (i: number, at = time): NoteSigner => ({
  name: witnessName(i),
  signer: ed25519(10 + i),
  type: 0x04,
  time: at,
});
const checkpoint: Checkpoint = { origin, size: 9, root: new Uint8Array(32).fill(9), extensions: [] };

const parse = (text: string) => parsePolicy(toUtf8(text));

// The example of c2sp.org/tlog-policy, with keys.
const example = `log ${logKey}

witness X1 ${witnessKey(0)}
witness X2 ${witnessKey(1)}
witness X3 ${witnessKey(2)}
group X-witnesses 2 X1 X2 X3

witness Y1 ${witnessKey(3)}
witness Y2 ${witnessKey(4)}
witness Y3 ${witnessKey(5)}
group Y-witnesses any Y1 Y2 Y3

group X-and-Y all X-witnesses Y-witnesses
quorum X-and-Y
`;

describe('a policy', () => {
  it('is its logs, witnesses, groups and quorum', () => {
    expect(parse(example)).toEqual({
      logs: [{ verifier: verifierOf(origin, 1, 0x01), url: null }],
      witnesses: names.map((name, i) => ({
        name,
        verifier: verifierOf(witnessName(i), 10 + i, 0x04),
        url: null,
      })),
      groups: [
        { name: 'X-witnesses', threshold: 2, members: ['X1', 'X2', 'X3'] },
        { name: 'Y-witnesses', threshold: 1, members: ['Y1', 'Y2', 'Y3'] },
        { name: 'X-and-Y', threshold: 2, members: ['X-witnesses', 'Y-witnesses'] },
      ],
      quorum: 'X-and-Y',
    });
  });

  it('needs nothing but a quorum', () => {
    expect(parse('quorum none\n')).toEqual({ logs: [], witnesses: [], groups: [], quorum: 'none' });
  });

  it('may be spaced and commented', () => {
    const text = `# comment\n\n \t \n\t# another \x20\n  log\t${logKey}  https://log.example/ \nwitness #1 ${witnessKey(0)}\tu\n quorum #1\t\n#`;
    expect(parse(`${text}\n`)).toEqual({
      logs: [{ verifier: verifierOf(origin, 1, 0x01), url: 'https://log.example/' }],
      witnesses: [{ name: '#1', verifier: verifierOf(witnessName(0), 10, 0x04), url: 'u' }],
      groups: [],
      quorum: '#1',
    });
  });

  it('may use the words of the format as names', () => {
    const text = `witness all ${witnessKey(0)}\nwitness any ${witnessKey(1)}\nwitness 2 ${witnessKey(2)}\ngroup group 2 any all 2\nquorum group\n`;
    expect(parse(text).groups).toEqual([{ name: 'group', threshold: 2, members: ['any', 'all', '2'] }]);
  });

  it('takes ML-DSA-44 keys of logs and of witnesses, also the same for both', () => {
    const vkey = formatVkey(pqVerifier(origin));
    const policy = parse(`log ${vkey}\nwitness w ${vkey}\nquorum w\n`);
    expect(policy.logs[0]!.verifier).toEqual(pqVerifier(origin));
    expect(policy.witnesses[0]!.verifier).toEqual(pqVerifier(origin));
  });

  it('compares names as octets', () => {
    const kelvin = parse(`witness K ${witnessKey(0)}\nwitness \u212a ${witnessKey(1)}\nquorum \u212a\n`);
    expect(kelvin.witnesses.map(({ name }) => name)).toEqual(['K', '\u212a']);
    // Composed and decomposed are two names.
    const accents = parse(`witness \u00e9 ${witnessKey(0)}\nwitness e\u0301 ${witnessKey(1)}\nquorum none\n`);
    expect(accents.witnesses).toHaveLength(2);
    // A no-break space separates nothing.
    expect(parse(`witness a\u00a0b ${witnessKey(0)}\nquorum a\u00a0b\n`).quorum).toBe('a\u00a0b');
  });

  it('may hold octets that are no UTF-8', () => {
    const bytes = (...parts: (string | number)[]) =>
      concat(...parts.map((part) => (typeof part === 'string' ? toUtf8(part) : Uint8Array.of(part))));
    const policy = parsePolicy(
      bytes(
        '# ',
        0xff,
        '\nwitness a',
        0xe9,
        ` ${witnessKey(0)} http://`,
        0xfe,
        '\nwitness aé ',
        `${witnessKey(1)}\nquorum a`,
        0xe9,
        '\n',
      ),
    );
    expect(policy.witnesses.map(({ name, url }) => [name, url])).toEqual([
      ['a\udce9', 'http://\udcfe'],
      ['aé', null],
    ]);
    expect(policy.quorum).toBe('a\udce9');
    expect(() => formatPolicy(policy)).toThrow(code('LOG_POLICY'));
    expect(() => parsePolicy(bytes('witness a', 0xe9, ` ${witnessKey(0)}\nquorum a`, 0xe8, '\n'))).toThrow(
      code('LOG_POLICY'),
    );
  });

  const two = `witness a ${witnessKey(0)}\nwitness b ${witnessKey(1)}\n`;
  const badId = logKey.replace(/\+[0-9a-f]{8}\+/, '+00000000+');
  it.each([
    ['', /quorum line/],
    ['# quorum none\n', /quorum line/],
    ['quorum none', /^Line 1: .* newline/],
    ['\nquorum none\n# end', /^Line 3: .* newline/],
    ['quorum\n', /^Line 1: .* one name/],
    ['quorum none none\n', /^Line 1: .* one name/],
    ['quorum none\nquorum none\n', /^Line 2: .* not two/],
    ['quorum a\n', /^Line 1: .* before it/],
    [`quorum a\n${two}`, /^Line 1: .* before it/],
    ['Quorum none\n', /^Line 1: A line defines/],
    ['\ufeffquorum none\n', /^Line 1: A line defines/],
    ['policy\n', /^Line 1: A line defines/],
    ['quorum none # why\n', /^Line 1: .* one name/],
    ['quorum none\r\n', /^Line 1: .* control/],
    ['# \x7f\nquorum none\n', /^Line 1: .* control/],
    ['quorum\0none\n', /^Line 1: .* control/],
    ['quorum\u000bnone\n', /^Line 1: .* control/],
    ['log\n', /^Line 1: A log is/],
    [`log ${logKey} url more\n`, /^Line 1: A log is/],
    ['log x\n', /^Line 1: A verifier key/],
    [`log ${badId}\n`, /^Line 1: The id/],
    [`\nlog ${witnessKey(0)}\n`, /^Line 2: A log does not sign with type 0x04/],
    [`log ${logKey}\nlog ${formatVkey(verifierOf('other', 1, 0x01))}\n`, /^Line 2: Another log/],
    ['witness\n', /^Line 1: A witness is/],
    ['witness a\n', /^Line 1: A witness is/],
    [`witness a ${witnessKey(0)} url more\n`, /^Line 1: A witness is/],
    [`witness a ${logKey}\n`, /^Line 1: A witness does not sign with type 0x01/],
    [`witness none ${witnessKey(0)}\n`, /^Line 1: The name is defined/],
    [`${two}witness a ${witnessKey(2)}\n`, /^Line 3: The name is defined/],
    [`${two}witness c ${witnessKey(0)}\n`, /^Line 3: Another witness/],
    [`${two}witness c ${formatVkey(verifierOf('other', 10, 0x04))}\n`, /^Line 3: Another witness/],
    [`${two}group\n`, /^Line 3: A group is/],
    [`${two}group g\n`, /^Line 3: A group is/],
    [`${two}group g all\n`, /^Line 3: A group is/],
    [`${two}group g all a c\n`, /^Line 3: A member/],
    [`${two}group g all a g\n`, /^Line 3: A member/],
    [`${two}group g any none\n`, /^Line 3: A member/],
    [`${two}group none any a\n`, /^Line 3: The name is defined/],
    [`${two}group a any b\n`, /^Line 3: The name is defined/],
    [`${two}group g any a a\n`, /^Line 3: A name is a member/],
    [`${two}group g any a\ngroup h any b a\n`, /^Line 4: A name is a member/],
    [`${two}group g 0 a b\n`, /^Line 3: A threshold/],
    [`${two}group g 3 a b\n`, /^Line 3: A threshold/],
    [`${two}group g 01 a b\n`, /^Line 3: A threshold/],
    [`${two}group g +1 a b\n`, /^Line 3: A threshold/],
    [`${two}group g -1 a b\n`, /^Line 3: A threshold/],
    [`${two}group g 1.0 a b\n`, /^Line 3: A threshold/],
    [`${two}group g ALL a b\n`, /^Line 3: A threshold/],
    [`${two}group g 99999999999999999999 a b\n`, /^Line 3: A threshold/],
  ])('is not %j', (text, sentence) => {
    const refusal = expect.objectContaining({ code: 'LOG_POLICY', message: expect.stringMatching(sentence) });
    expect(() => parse(text)).toThrow(refusal);
  });

  it('keeps the cause where a key is wrong', () => {
    expect(() => parse(`log ${badId}\n`)).toThrow(
      expect.objectContaining({ cause: expect.objectContaining({ code: 'NOTE_VKEY' }) }),
    );
  });

  it('has at most 1,000 of each', () => {
    const line = (n: number) =>
      n === 0 ? `witness w ${witnessKey(0)}\ngroup g0 any w\n` : `group g${n} any g${n - 1}\n`;
    const chain = (count: number) => Array.from({ length: count }, (_, n) => line(n)).join('');
    expect(parse(`${chain(1000)}quorum g999\n`).groups).toHaveLength(1000);
    expect(() => parse(`${chain(1001)}quorum none\n`)).toThrow(/^Line 1002: A policy has at most 1000/);
  });
});

describe('a policy that is written', () => {
  it('is read back as the same', () => {
    const urls = example
      .replace(logKey, `${logKey} https://log.example/é`)
      .replace(witnessKey(3), `${witnessKey(3)} u`);
    for (const text of ['quorum none\n', example, urls]) {
      const policy = parse(text);
      const written = formatPolicy(policy);
      expect(parse(written)).toEqual(policy);
      expect(formatPolicy(parse(written))).toBe(written);
    }
  });

  it('has one form', () => {
    expect(formatPolicy(parse(example))).toBe(
      [
        `log ${logKey}`,
        ...names.map((name, i) => `witness ${name} ${witnessKey(i)}`),
        'group X-witnesses 2 X1 X2 X3',
        'group Y-witnesses any Y1 Y2 Y3',
        'group X-and-Y all X-witnesses Y-witnesses',
        'quorum X-and-Y',
        '',
      ].join('\n'),
    );
    const single = `witness a ${witnessKey(0)}\ngroup g 1 a\nquorum g\n`;
    expect(formatPolicy(parse(single))).toContain('group g all a\n');
  });

  it('cannot be anything that would be read otherwise', () => {
    const policy = parse(example);
    const first = policy.witnesses[0]!;
    const bad: Partial<Policy>[] = [
      { quorum: 'nobody' },
      { quorum: '' },
      { quorum: 'none\nquorum none' },
      { witnesses: [{ ...first, name: 'a b' }, ...policy.witnesses.slice(1)] },
      { witnesses: [{ ...first, url: '' }, ...policy.witnesses.slice(1)] },
      { witnesses: [{ ...first, url: 'a\nb' }, ...policy.witnesses.slice(1)] },
      { witnesses: [first, ...policy.witnesses] },
      { witnesses: [{ ...first, verifier: { ...first.verifier, keyId: 1 } }, ...policy.witnesses.slice(1)] },
      { groups: policy.groups.toReversed() },
      { groups: [{ ...policy.groups[0]!, threshold: 0 }, ...policy.groups.slice(1)] },
      { groups: [{ ...policy.groups[0]!, threshold: 1.5 }, ...policy.groups.slice(1)] },
      { groups: [{ ...policy.groups[0]!, threshold: 4 }, ...policy.groups.slice(1)] },
    ];
    for (const part of bad)
      expect(() => formatPolicy({ ...policy, ...part }), JSON.stringify(part)).toThrow(code('LOG_POLICY'));
  });
});

describe('a checkpoint under a policy', () => {
  const policy = parse(example);
  const result = async (
    signers: readonly NoteSigner[],
    options?: Parameters<typeof evaluatePolicy>[2],
    of: Policy = policy,
  ) => {
    const {
      log: signedBy,
      witnesses,
      quorum,
    } = evaluatePolicy(of, await signCheckpoint(checkpoint, signers), options);
    return { log: signedBy !== null, witnesses: witnesses.map(({ name }) => name), quorum };
  };

  it('has a quorum with the witnesses that the groups ask for', async () => {
    const cases: [number[], boolean][] = [
      [[], false],
      [[0, 1, 2], false],
      [[3, 4, 5], false],
      [[0, 3], false],
      [[0, 1, 3], true],
      [[0, 2, 5], true],
      [[1, 2, 3, 4], true],
      [[0, 1, 2, 3, 4, 5], true],
    ];
    for (const [signed, quorum] of cases) {
      expect(await result([log, ...signed.map((i) => witness(i))])).toEqual({
        log: true,
        witnesses: signed.map((i) => names[i]),
        quorum,
      });
    }
  });

  it('is opened, and tells who signed when', async () => {
    const evaluated = evaluatePolicy(policy, await signCheckpoint(checkpoint, [witness(4, 7), log]));
    expect(evaluated).toMatchObject({
      checkpoint,
      log: verifierOf(origin, 1, 0x01),
      witnesses: [{ name: 'Y2', time: 7 }],
      quorum: false,
      unknown: [],
    });
    expect(evaluated.verified).toHaveLength(2);
  });

  it('is cosigned before a time', async () => {
    const signers = [log, witness(0, 99), witness(1, 100), witness(3, 101), witness(4, 0)];
    expect(await result(signers)).toMatchObject({ witnesses: ['X1', 'X2', 'Y1', 'Y2'], quorum: true });
    expect(await result(signers, { before: 102 })).toMatchObject({
      witnesses: ['X1', 'X2', 'Y1'],
      quorum: true,
    });
    expect(await result(signers, { before: 101 })).toMatchObject({ witnesses: ['X1', 'X2'], quorum: false });
    expect(await result(signers, { before: 100 })).toMatchObject({ witnesses: ['X1'], quorum: false });
    expect(await result(signers, { before: Number.NaN })).toMatchObject({ witnesses: [], quorum: false });
  });

  it('may lack the signature of the log', async () => {
    expect(await result([witness(0), witness(1), witness(3)])).toEqual({
      log: false,
      witnesses: ['X1', 'X2', 'Y1'],
      quorum: true,
    });
  });

  it('is of a log of the policy, or of one that is known from elsewhere', async () => {
    const anyLog = parse(`witness w ${witnessKey(0)}\nquorum w\n`);
    expect(await result([log, witness(0)], {}, anyLog)).toMatchObject({ log: false, quorum: true });
    const logs = [verifierOf(origin, 1, 0x01)];
    expect(await result([log, witness(0)], { logs }, anyLog)).toMatchObject({ log: true, quorum: true });
    expect(await result([log], { logs }, policy)).toMatchObject({ log: true, quorum: false });
    const other = await signCheckpoint({ ...checkpoint, origin: 'other' }, [
      { ...log, name: 'other' },
      witness(0),
    ]);
    expect(evaluatePolicy(policy, other).log).toBeNull();
  });

  it('needs no witness where the quorum is none', async () => {
    const alone = parse(`log ${logKey}\nquorum none\n`);
    expect(await result([log, witness(0)], {}, alone)).toEqual({ log: true, witnesses: [], quorum: true });
  });

  it('is refused whole when a known key signed badly, and when none signed', async () => {
    const note = await signCheckpoint(checkpoint, [log, witness(0), witness(1), witness(3)]);
    const { text, signatures } = parseNote(note);
    const last = signatures[3]!;
    const broken = { ...last, signature: last.signature.with(20, last.signature[20]! ^ 1) };
    const bad = formatNote({ text, signatures: [...signatures.slice(0, 3), broken] });
    expect(() => evaluatePolicy(policy, bad)).toThrow(code('NOTE_SIGNATURE_INVALID'));
    const strange = await signCheckpoint(checkpoint, [{ ...log, signer: ed25519(99) }]);
    expect(() => evaluatePolicy(policy, strange)).toThrow(code('NOTE_UNVERIFIED'));
    const elsewhere = await signCheckpoint({ ...checkpoint, origin: 'other' }, [log, witness(0)]);
    expect(() => evaluatePolicy(policy, elsewhere)).toThrow(code('LOG_ORIGIN'));
  });

  it('counts a log that is named as a witness too, and no witness as the log', async () => {
    const signer = { name: origin, signer: pqSigner, type: 0x06, time };
    const vkey = formatVkey(pqVerifier(origin));
    const both = parse(`log ${vkey}\nwitness w ${vkey}\nquorum w\n`);
    expect(await result([signer], {}, both)).toEqual({ log: true, witnesses: ['w'], quorum: true });
    const only = parse(`witness w ${vkey}\nquorum w\n`);
    expect(await result([signer], {}, only)).toEqual({ log: false, witnesses: ['w'], quorum: true });
    // A log of another origin that cosigned in type 0x06 is not this log.
    const foreign = { ...signer, name: 'other' };
    const listed = parse(`log ${formatVkey(pqVerifier('other'))}\nquorum none\n`);
    expect(await result([foreign], {}, listed)).toEqual({ log: false, witnesses: [], quorum: true });
  });

  it('counts a group as one member', async () => {
    const nested = parse(
      `${names.map((name, i) => `witness ${name} ${witnessKey(i)}`).join('\n')}\n` +
        'group a all X1 X2\ngroup b 2 a X3 Y1\ngroup c any b Y2\nquorum c\n',
    );
    expect((await result([witness(0), witness(2)], {}, nested)).quorum).toBe(false);
    expect((await result([witness(0), witness(1), witness(2)], {}, nested)).quorum).toBe(true);
    expect((await result([witness(2), witness(3)], {}, nested)).quorum).toBe(true);
    expect((await result([witness(4)], {}, nested)).quorum).toBe(true);
    expect((await result([witness(5)], {}, nested)).quorum).toBe(false);
  });
});

it('reads keys whose base64 holds plus signs', () => {
  let n = 60;
  while (!toBase64(Uint8Array.of(4, ...ed25519(n).publicKey)).includes('+')) n++;
  const vkey = formatVkey(verifierOf('w', n, 0x04));
  expect(formatVkey(parse(`witness w ${vkey}\nquorum w\n`).witnesses[0]!.verifier)).toBe(vkey);
});
