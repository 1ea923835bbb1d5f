import type { ChildProcess } from 'node:child_process';

// A program that we start leads a process group with everything that it starts, so that they can be ended together.
// Should this process end without stopping it, by `process.exit` or a signal, the group is killed on the way.

/** Sends a signal to the group, or none for 0, and tells whether there was anybody to get it. */
export function signalGroup(child: ChildProcess, name: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  if (process.platform === 'win32') return child.kill(name);
  try {
    return process.kill(-child.pid!, name);
  } catch {
    return false;
  }
}

/** How to kill each group that still runs. */
const running = new Map<number, () => void>();
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Has `kill` called when this process ends, until {@link unwatchGroup}. */
export function watchGroup(pid: number, kill: () => void): void {
  if (running.size === 0) {
    process.on('exit', killAll);
    for (const name of SIGNALS) process.on(name, onSignal);
  }
  running.set(pid, kill);
}

export function unwatchGroup(pid: number): void {
  running.delete(pid);
  if (running.size > 0) return;
  process.off('exit', killAll);
  for (const name of SIGNALS) process.off(name, onSignal);
}

function killAll(): void {
  for (const kill of running.values()) kill();
}

/**
 * A terminal's interrupt does not reach other groups. Whoever else listens ends things in good order, and what is left
 * then is killed on the way out; if nobody does, this process ends as it would without us.
 */
function onSignal(name: NodeJS.Signals): void {
  if (process.listenerCount(name) > 1) return;
  killAll();
  process.off(name, onSignal);
  process.kill(process.pid, name);
}
