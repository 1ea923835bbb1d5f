/** What every other folder may use of the operating system. */
export { readStandardInput, takeStandardInput } from './stdin.ts';
