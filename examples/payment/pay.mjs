// A payment tool. It is started only by `bulla envelope verify`, once for each approved envelope, and pays what the
// envelope on its input says; the agent's own arguments never reach it.
import { appendFileSync, readFileSync } from 'node:fs';

const { target } = JSON.parse(readFileSync(0, 'utf8'));
const digits = target.amount.padStart(target.decimals + 1, '0');
const amount = `${digits.slice(0, -target.decimals)}.${digits.slice(-target.decimals)}`;
const line = `paid ${amount} ${target.asset} to ${target.to}\n`;
appendFileSync(`${process.env.BULLA_HOME}/paid.txt`, line);
process.stdout.write(line);
