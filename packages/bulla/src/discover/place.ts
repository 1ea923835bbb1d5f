import { posix, win32 } from 'node:path';
import type { Environment } from '../os/index.ts';

/** Whose configurations are looked for, and where. */
export interface Place {
  /** As `process.platform` has it. */
  readonly platform: string;
  readonly home: string;
  readonly project: string;
  /** The variables that move configurations; empty for another home than the own. */
  readonly env: Environment;
}

/** Joins paths as the place's platform does. */
export function join({ platform }: Pick<Place, 'platform'>, ...parts: readonly string[]): string {
  return (platform === 'win32' ? win32 : posix).join(...parts);
}

/** The folder that a variable names if it is set, else this one. */
export function named(place: Place, variable: string, folder: string): string {
  return place.env[variable] || folder;
}

/** Where programs with a window keep their data, which is where Electron puts it. */
export function appData(place: Place, ...parts: readonly string[]): string {
  const { platform, home } = place;
  if (platform === 'win32')
    return join(place, named(place, 'APPDATA', join(place, home, 'AppData', 'Roaming')), ...parts);
  if (platform === 'darwin') return join(place, home, 'Library', 'Application Support', ...parts);
  return config(place, ...parts);
}

/** Where programs of the terminal keep their configuration, on macOS too. */
export function config(place: Place, ...parts: readonly string[]): string {
  return join(place, named(place, 'XDG_CONFIG_HOME', join(place, place.home, '.config')), ...parts);
}
