// Some tools define a region anew for each process: a profile by region then has a row for each.
import type { Profile, ProfileRow } from "../api";
import { count } from "../dom";

/** mergeByName adds up the rows of regions of one name, calls and claims apart; the colour is that of the first. */
export function mergeByName(rows: readonly ProfileRow[]): ProfileRow[] {
  const out = new Map<string, ProfileRow>();
  const least = (a: string, b: string): string => (BigInt(a) < BigInt(b) ? a : b), most = (a: string, b: string): string => (BigInt(a) > BigInt(b) ? a : b);
  for (const r of rows) {
    const key = `${r.kind === "claim"} ${r.name}`, o = out.get(key);
    if (!o) { out.set(key, { ...r }); continue; }
    o.count += r.count;
    o.inclusive = String(BigInt(o.inclusive) + BigInt(r.inclusive));
    o.exclusive = String(BigInt(o.exclusive) + BigInt(r.exclusive));
    o.min = least(o.min, r.min); o.max = most(o.max, r.max);
    o.sum = String(BigInt(o.sum) + BigInt(r.sum));
  }
  return [...out.values()];
}

/** leftOut says what a profile lacks, "" if it has all; merged are sums of rows by name. */
export function leftOut(p: Profile, merged: boolean): string {
  const n = p.left.rows;
  if (n === 0) return "";
  const what = `${count(n)} ${n === 1 ? "row" : "rows"} with less exclusive time`;
  return merged ? `${what} ${n === 1 ? "is" : "are"} not in these sums` : `${what} ${n === 1 ? "is" : "are"} left out`;
}
