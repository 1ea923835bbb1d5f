declare const BULLA_VERSION: string | undefined;

/** The build puts the version here; the sources that are run as they are have none. */
export const VERSION: string = typeof BULLA_VERSION === 'undefined' ? '0.0.0' : BULLA_VERSION;
