import { describeTarget } from '../../locks/index.ts';
import { INHERITED, type StdioTarget } from '../../mcp/index.ts';
import { typed } from './host-config.ts';

/**
 * Variables that sessions, shells, desktops, editors and package managers set for every program: nobody meant them for
 * one server. Hosts that pass their whole environment on pass these.
 */
const ORDINARY =
  /^(?:_|__.*|BULLA_.*|COLORTERM|COLUMNS|COMMAND_MODE|CONDA_.*|CUDA_.*|DBUS_.*|DEBUGINFOD_.*|DESKTOP_.*|DISPLAY|EDITOR|ELECTRON_.*|FORCE_COLOR|GDK_.*|GDMSESSION|GI_.*|GIO_.*|GJS_.*|GNOME_.*|GO(?:PATH|ROOT|BIN)|GPG_.*|GSETTINGS_.*|GTK_.*|HIST.*|HOMEBREW_.*|HOST|HOSTNAME|HOSTTYPE|IM_CONFIG_.*|INFOPATH|INVOCATION_ID|JAVA_HOME|JOURNAL_STREAM|KDE_.*|KONSOLE_.*|LC_.*|LESS.*|LINES|LS_COLORS|LSCOLORS|MACHTYPE|MAIL|MALLOC_.*|MANAGERPID|MANPATH|MEMORY_PRESSURE_.*|NO_COLOR|NODE(?:_.*)?|NVM_.*|OLDPWD|ORIGINAL_XDG_.*|OSTYPE|P9K_.*|PAGER|PAM_.*|PNPM_.*|PS1|PWD|PYENV_.*|PYTHON.*|QT_.*|RBENV_.*|SDKMAN_.*|SECURITYSESSIONID|SESSION_.*|SHLVL|SNAP.*|SSH_.*|SUDO_.*|SYSTEMD_.*|TERM_.*|TMP|TEMP|TMUX.*|USERNAME|VIRTUAL_ENV.*|VISUAL|VOLTA_.*|VSCODE_.*|VTE_.*|WAYLAND_DISPLAY|WINDOWID|WINDOWPATH|WSL.*|WT_.*|XAUTHORITY|XDG_.*|XMODIFIERS|XPC_.*|YARN_.*|ZSH.*|npm_.*)$/;

/** What the name of a setting or a secret of a server has among its words. */
const SETTING =
  /(?:^|_)(?:API|APIKEY|AUTH|CREDENTIALS?|DATABASE|DSN|ENDPOINT|KEY|PASS|PASSWD|PASSWORD|PAT|SECRET|TOKEN|URI|URL)(?:_|$)/i;

/** More names than this are a whole environment that was passed on, not what somebody set for a server. */
const FEW = 8;

/**
 * The variables that a host seems to set for the server, and that it will not see because nothing names them: what is
 * not set for every program; where that is much, what looks like a setting or a secret.
 */
export function unseenNames(
  environment: Readonly<Record<string, string | undefined>>,
  seen: readonly string[],
): string[] {
  const names = Object.keys(environment)
    .filter((name) => !INHERITED.includes(name) && !seen.includes(name) && !ORDINARY.test(name))
    .filter((name) => /^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(name))
    .sort();
  const told = names.length <= FEW ? names : names.filter((name) => SETTING.test(name));
  return told.slice(0, FEW);
}

/** The command that locks the server again, so that it sees these variables too, and what must be set for it. */
export function relockCommand(lockfile: string, server: StdioTarget, names: readonly string[]): string {
  const env = [...new Set([...server.env, ...names])].sort();
  const lock = typed(['lock', '-o', lockfile, ...env.flatMap((name) => ['--env', name]), '--']);
  return `with ${env.join(', ')} set: ${lock} ${describeTarget(server)}`;
}
