declare const BULLA_VERSION: string;

export const VERSION: string = BULLA_VERSION;
