import { describe, expect, test } from 'vitest';
import { options, refusal, surface, utf8, whole } from '../../../test/surface.ts';
import { sha256Hex } from '../../crypto/index.ts';
import { type Artifact, readLock, writeLock } from '../index.ts';

const hashOf = (text: string) => `sha256:${sha256Hex(text)}`;
const artifact: Artifact = {
  ...{ type: 'npm', name: '@a/b', version: '1.0.0', registry: null, integrity: 'sha512-x', tarball_url: '' },
  ...{ tarball_sha256: null, tarball_size: 0, image: null, digest: null, tree: null },
  provenance: {
    ...{ method: 'cosign_slsa', predicate_type: null, builder_id: 'b', source_repo: null, source_ref: null },
    ...{ workflow_uri: null, issuer: 'i', identity: null, verified: false, verified_at: 'now' },
  },
};
const two = surface({
  tools: [
    '{"name":"～"}',
    '{"name":"🎉","description":"a & b","inputSchema":{"maximum":1.0}}',
    '{"name":"a"}',
  ],
});

describe('version 2', () => {
  const identity = { transport: 'stdio', command: 'sh', args: ['-c "a && b"'], env: [] } as const;

  test('has these bytes, and no newline at the end', () => {
    const { text } = writeLock(two, { ...options, identity, artifact, format: 'v2', compatGo: true });
    expect(text).toBe(`{
  "version": "2.0",
  "server_command": "sh -c \\"a \\u0026\\u0026 b\\"",
  "artifact": {
    "type": "npm",
    "name": "@a/b",
    "version": "1.0.0",
    "integrity": "sha512-x",
    "provenance": {
      "method": "cosign_slsa",
      "builder_id": "b",
      "issuer": "i",
      "verified": false,
      "verified_at": "now"
    }
  },
  "tools": {
    "a": {
      "description_hash": "${hashOf('')}",
      "input_schema_hash": "",
      "risk_level": "LOW"
    },
    "～": {
      "description_hash": "${hashOf('')}",
      "input_schema_hash": "",
      "risk_level": "LOW"
    },
    "🎉": {
      "description_hash": "${hashOf('a & b')}",
      "input_schema_hash": "${hashOf('{"maximum":1}')}",
      "risk_level": "LOW"
    }
  }
}`);
    const lock = readLock(utf8(text));
    expect(lock.artifact).toEqual({ ...artifact, tarball_url: null, tarball_size: null });
    expect([lock.version, lock.serverCommand, lock.prompts]).toEqual(['2.0', 'sh -c "a && b"', null]);
  });

  test('joins command and arguments with spaces', () => {
    const { text } = writeLock(surface(), { ...options, format: 'v2' });
    expect(text).toBe('{\n  "version": "2.0",\n  "server_command": "node server.js a b",\n  "tools": {}\n}');
  });

  test('version 1 is the same without artifact', () => {
    expect(writeLock(surface(), { ...options, format: 'v1' }).text).toBe(
      '{\n  "version": "1.0",\n  "server_command": "node server.js a b",\n  "tools": {}\n}',
    );
    expect(refusal(() => writeLock(surface(), { ...options, format: 'v1', artifact }))).toBe(
      'LOCK_FIELD /artifact',
    );
    expect(
      refusal(() =>
        writeLock(surface(), { ...options, format: 'v2', artifact: { ...artifact, tarball_size: 1.5 } }),
      ),
    ).toBe('LOCK_FIELD /artifact/tarball_size');
  });
});

describe('version 3', () => {
  test('an empty surface has these bytes, and one newline at the end', () => {
    expect(writeLock(surface(), { ...options, format: 'v3' }).text).toBe(`{
  "lockFileVersion": "3.0",
  "meta": {
    "generator": "bulla test",
    "updatedAt": "2026-01-02T03:04:05Z"
  },
  "server": {
    "name": "sample"
  },
  "prompts": {
    "definitions": {}
  },
  "resources": {
    "templates": []
  },
  "tools": {}
}
`);
  });

  test('a server without a name has the empty one', () => {
    const { text } = writeLock(surface({ serverInfo: '{}' }), { ...options, format: 'v3' });
    expect(readLock(utf8(text)).serverName).toBe('');
  });
});

describe('our own content', () => {
  test('has these bytes', () => {
    const small = surface({ tools: ['{"name":"a","inputSchema":{"x":1.50}}'], instructions: 'Hi <b>' });
    const { text } = writeLock(small, options);
    expect(text).toBe(`{
  "lockFileVersion": "3.0",
  "meta": {
    "generator": "bulla test",
    "updatedAt": "2026-01-02T03:04:05Z"
  },
  "server": {
    "name": "sample"
  },
  "prompts": {
    "definitions": {}
  },
  "resources": {
    "templates": []
  },
  "tools": {
    "a": {
      "description_hash": "${hashOf('')}",
      "input_schema_hash": "${hashOf('{"x":1.50}')}",
      "risk_level": "LOW"
    }
  },
  "bulla": {
    "format": 1,
    "profile": "mcptrust-v1",
    "identity": {
      "transport": "stdio",
      "command": "node",
      "args": [
        "server.js",
        "a b"
      ],
      "env": [
        "HOME",
        "TOKEN"
      ]
    },
    "authorization": {
      "scheme": "none",
      "issuer": null,
      "subject": null,
      "scopes": [],
      "headers": []
    },
    "era": "initialize",
    "protocolVersion": "2025-11-25",
    "excluded": {
      "tools": [],
      "prompts": [],
      "resources": [
        "/annotations/lastModified",
        "/size"
      ],
      "resourceTemplates": [
        "/annotations/lastModified"
      ]
    },
    "serverInfo": {
      "digest": "${hashOf('{"name":"sample","version":"1.0.0"}')}",
      "definition": {
        "name": "sample",
        "version": "1.0.0"
      }
    },
    "instructions": {
      "digest": "${hashOf('"Hi <b>"')}",
      "definition": "Hi \\u003cb\\u003e"
    },
    "capabilities": {
      "digest": "${hashOf('{"tools":{}}')}",
      "definition": {
        "tools": {}
      }
    },
    "tools": {
      "a": {
        "digest": "${hashOf('{"inputSchema":{"x":1.5},"name":"a"}')}",
        "definition": {
          "name": "a",
          "inputSchema": {
            "x": 1.50
          }
        }
      }
    },
    "prompts": {},
    "resources": {},
    "resourceTemplates": {},
    "contents": {},
    "flags": []
  }
}
`);
  });

  test('is version 3 with one key more', () => {
    const native = writeLock(whole, options).text;
    const v3 = writeLock(whole, { ...options, format: 'v3' }).text;
    expect(native.startsWith(`${v3.slice(0, -3)},\n  "bulla": {\n`)).toBe(true);
  });

  test('the order of lists and of contents does not change it', () => {
    const turned = { ...whole, tools: whole.tools.toReversed(), resources: whole.resources.toReversed() };
    expect(writeLock(turned, options).text).toBe(writeLock(whole, options).text);
  });
});

describe('warnings', () => {
  test('name each tool that the two number rules hash differently, whichever is used', () => {
    const warned = (compatGo: boolean) => writeLock(whole, { ...options, compatGo, format: 'v3' }).warnings;
    expect(warned(false)).toEqual([
      {
        code: 'number-rule',
        tool: 'add',
        message:
          'A number in the schema of "add" makes the released program compute another hash than mcptrust-v1.',
      },
      {
        code: 'number-rule',
        tool: 'big',
        message:
          'A number in the schema of "big" makes the released program compute another hash than mcptrust-v1.',
      },
    ]);
    expect(warned(true).map(({ tool, message }) => [tool, message])).toEqual([
      [
        'add',
        'A number in the schema of "add" makes the lock specification compute another hash than mcptrust-v1-go.',
      ],
      [
        'big',
        'A number in the schema of "big" makes the lock specification compute another hash than mcptrust-v1-go.',
      ],
    ]);
  });

  test('name what is not pinned, and an address that is stored with its query', () => {
    const http = { transport: 'http', url: 'https://mcp.example/s?key=1' } as const;
    const { warnings } = writeLock({ ...whole, tools: [] }, { ...options, identity: http });
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      [
        'content-unpinned',
        'What lies behind "https://s.example/i.png" (/serverInfo/icons/0/src) is not pinned and can change unnoticed.',
      ],
      ['url-query', 'The address of the server is stored with its query; see that it holds no secret.'],
    ]);
  });
});

describe('refused', () => {
  const lock = (text: Parameters<typeof surface>[0]) => refusal(() => writeLock(surface(text), options));

  test('definitions that cannot be known by one name', () => {
    expect(lock({ tools: ['{"name":"a"}', '{"name":"a"}'] })).toBe('LOCK_DUPLICATE /tools/1/name');
    expect(lock({ tools: ['{}'] })).toBe('LOCK_DEFINITION /tools/0/name');
    expect(lock({ prompts: ['{"name":""}'] })).toBe('LOCK_DEFINITION /prompts/0/name');
    expect(lock({ resources: ['{"uri":1}'] })).toBe('LOCK_DEFINITION /resources/0/uri');
    expect(lock({ resourceTemplates: ['{"uri":"x"}'] })).toBe(
      'LOCK_DEFINITION /resourceTemplates/0/uriTemplate',
    );
    expect(lock({ serverInfo: '{"name":7}' })).toBe('LOCK_DEFINITION /serverInfo/name');
    expect(lock({ tools: ['{"name":"a","Name":"b"}'] })).toBe('LOCK_CASE_TWIN /tools/a/Name');
    const content = { uri: 'ui://x', sha256: 'ab'.repeat(32), mimeType: null };
    expect(lock({ contents: [content, content] })).toBe('LOCK_DUPLICATE');
    expect(lock({ contents: [{ ...content, sha256: 'AB'.repeat(32) }] })).toBe('LOCK_FIELD');
  });

  test.each(['inputSchema', 'outputSchema'])('a reference out of %s', (key) => {
    const tool = (schema: string) => lock({ tools: [`{"name":"t","${key}":${schema}}`] });
    const at = `LOCK_REMOTE_REF /tools/t/${key}`;
    expect(tool('{"$ref":"https://evil.example/s.json"}')).toBe(`${at}/$ref`);
    expect(tool('{"allOf":[{},{"$dynamicRef":"//evil.example/s"}]}')).toBe(`${at}/allOf/1/$dynamicRef`);
    expect(tool('{"properties":{"a/b":{"$ref":"other.json#/x"}}}')).toBe(`${at}/properties/a~1b/$ref`);
    expect(tool('{"examples":[{"$ref":"file:///etc/passwd"}]}')).toBe(`${at}/examples/0/$ref`);
    // An $id that stands where no schema is, or that is not the whole address, makes nothing local.
    expect(tool('{"enum":[{"$id":"https://e.example/x"}],"$ref":"https://e.example/x"}')).toBe(`${at}/$ref`);
    expect(tool('{"$id":"https://e.example/x","$ref":"https://e.example/xy"}')).toBe(`${at}/$ref`);
    expect(tool('{"$id":"x","$ref":"x"}')).toBe(`${at}/$ref`);
    for (const local of [
      '{"$ref":"#/$defs/a","$defs":{"a":{}}}',
      '{"$ref":"#"}',
      '{"$id":"https://e.example/x","anyOf":[{"$ref":"https://e.example/x#/y"}]}',
      '{"$defs":{"a":{"$id":"urn:example:a"}},"$ref":"urn:example:a"}',
      '{"properties":{"$ref":{"type":"string"}},"required":["$ref"]}',
      '{"$schema":"https://json-schema.org/draft/2020-12/schema"}',
    ])
      expect(tool(local)).toBe('ok');
    expect(
      refusal(() =>
        writeLock(surface({ tools: ['{"name":"t","inputSchema":{"$ref":"x"}}'] }), {
          ...options,
          format: 'v2',
        }),
      ),
    ).toBe('LOCK_REMOTE_REF /tools/t/inputSchema/$ref');
  });

  test('numbers beyond a double, and nesting beyond what can be read back', () => {
    expect(lock({ tools: ['{"name":"t","inputSchema":{"maximum":1e400}}'] })).toBe(
      'CANON_NOT_FINITE /tools/t/inputSchema/maximum',
    );
    expect(lock({ tools: ['{"name":"t","_meta":{"x":-1e999}}'] })).toBe('CANON_NOT_FINITE /tools/t/_meta/x');
    const deep = `{"name":"t","x":${'['.repeat(996)}${']'.repeat(996)}}`;
    expect(lock({ tools: [deep] })).toBe('VALUE_TOO_DEEP');
    const fits = `{"name":"t","x":${'['.repeat(995)}${']'.repeat(995)}}`;
    expect(readLock(utf8(writeLock(surface({ tools: [fits] }), options).text)).tools.size).toBe(1);
  });

  test('identities that name nothing, or hold a secret', () => {
    const as = (identity: (typeof options)['identity']) =>
      refusal(() => writeLock(surface(), { ...options, identity }));
    expect(as({ transport: 'http', url: 'https://user:pw@mcp.example/' })).toBe('LOCK_IDENTITY');
    expect(as({ transport: 'http', url: '/relative' })).toBe('LOCK_IDENTITY');
    expect(as({ transport: 'http', url: 'file:///x' })).toBe('LOCK_IDENTITY');
    expect(as({ transport: 'stdio', command: '', args: [], env: [] })).toBe('LOCK_IDENTITY');
    expect(as({ transport: 'stdio', command: 'x', args: [], env: ['TOKEN=secret'] })).toBe('LOCK_IDENTITY');
    expect(as({ transport: 'stdio', command: 'x', args: [], env: ['A', 'A'] })).toBe('LOCK_IDENTITY');
    expect(as({ transport: 'stdio', command: 'x', args: ['', '\n'], env: ['ProgramFiles(x86)'] })).toBe('ok');
    const authorization = {
      scheme: 'headers',
      issuer: null,
      subject: null,
      scopes: [],
      headers: ['X-Key: 1'],
    } as const;
    expect(refusal(() => writeLock(surface(), { ...options, authorization }))).toBe('LOCK_IDENTITY');
  });

  test('exclusions that would unpin what must be pinned', () => {
    const without = (pointer: string) =>
      refusal(() => writeLock(whole, { ...options, exclude: { tools: [pointer] } }));
    for (const pointer of ['', '/', 'x', '/name', '/description', '/inputSchema/properties', '/~2', '/n~0'])
      expect([pointer, without(pointer)]).toEqual([
        pointer,
        ['/', '/n~0'].includes(pointer) ? 'ok' : 'LOCK_DEFINITION',
      ]);
    expect(refusal(() => writeLock(whole, { ...options, exclude: { tools: ['/x', '/x'] } }))).toBe(
      'LOCK_DEFINITION',
    );
  });

  test('a time that is none', () => {
    for (const updatedAt of [new Date(Number.NaN), new Date(8.64e15)])
      expect(refusal(() => writeLock(surface(), { ...options, updatedAt }))).toBe('USAGE');
  });
});
