import { commands } from 'vitest/browser';

interface FileCommands {
  bullaFile(action: 'has' | 'read' | 'list', path: string): Promise<string | string[] | boolean>;
}
const files = commands as unknown as FileCommands;

export const hasVectors = (await files.bullaFile('has', '')) as boolean;

export async function readBytes(path: string): Promise<Uint8Array> {
  return Uint8Array.from(atob((await files.bullaFile('read', path)) as string), (c) => c.charCodeAt(0));
}

export async function readText(path: string): Promise<string> {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readBytes(path));
}

export async function listFiles(folder: string): Promise<string[]> {
  return (await files.bullaFile('list', folder)) as string[];
}
